// ---- curves beside the player --------------------------------------------------------------------------

const MARGIN = { left: 34, right: 6, top: 5, bottom: 6 };

/* How many curves all charts have. */
const curveCount = (data) => data.charts.reduce((sum, one) => sum + one.curves.length, 0);

/* Columns of the curves of a chart in a run's table. */
function columnsOf(data, chart) {
  const before = data.charts.slice(0, chart).reduce((sum, one) => sum + one.curves.length, 0);
  return data.charts[chart].curves.map((_, k) => before + k);
}

/* Values of all curves of all charts at a place of a run. */
function curvesAt(data, run, place) {
  return between(run.charts, curveCount(data), place);
}

/* Least and greatest value of a chart with round numbers between them, kept with the run. */
function chartRange(data, run, chart) {
  run.ranges = run.ranges || [];
  if (!run.ranges[chart]) {
    const width = curveCount(data);
    let low = 0, high = 0;
    for (const column of columnsOf(data, chart)) {
      for (let k = column; k < run.charts.length; k += width) {
        low = Math.min(low, run.charts[k]), high = Math.max(high, run.charts[k]);
      }
    }
    const span = high - low || 1, power = 10 ** Math.floor(Math.log10(span / 3));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= span / 3.01), ticks = [];
    for (let k = Math.ceil((low - 0.02 * span) / step); k * step <= high + 0.02 * span; k++) ticks.push(k * step);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    run.ranges[chart] = { low: low - 0.06 * span, high: high + 0.06 * span, ticks, digits };
  }
  return run.ranges[chart];
}

/* The share of the motion at a place on a chart, in pixels from its left. */
function chartShare(canvas, x) {
  return Math.max(0, Math.min(1, (x - MARGIN.left) / (canvas.clientWidth - MARGIN.left - MARGIN.right)));
}

function drawChart(canvas, data, run, chart, time, ratio) {
  const width = canvas.clientWidth, height = canvas.clientHeight, ctx = canvas.getContext("2d");
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio), canvas.height = Math.round(height * ratio);
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  paintChart(ctx, data, run, chart, time, width, height);
}

function paintChart(ctx, data, run, chart, time, width, height) {
  const { low, high, ticks, digits } = chartRange(data, run, chart), first = run.times[0];
  const span = run.times[run.times.length - 1] - first || 1, total = curveCount(data);
  const x = (t) => MARGIN.left + (t - first) / span * (width - MARGIN.left - MARGIN.right);
  const y = (v) => height - MARGIN.bottom - (v - low) / (high - low) * (height - MARGIN.top - MARGIN.bottom);
  const segment = (points, colour, thick) => {
    ctx.strokeStyle = colour;
    ctx.lineWidth = thick;
    ctx.beginPath();
    points.forEach(([a, b], k) => (k ? ctx.lineTo(a, b) : ctx.moveTo(a, b)));
    ctx.stroke();
  };
  ctx.clearRect(0, 0, width, height);
  ctx.font = "10px ui-sans-serif, system-ui, sans-serif";
  ctx.textAlign = "right";
  for (const tick of ticks) {
    segment([[MARGIN.left, y(tick)], [width - MARGIN.right, y(tick)]], tick ? "#e6eaef" : "#b8c1cb", 1);
    ctx.fillStyle = "#5b6876";
    ctx.fillText(tick.toFixed(digits), MARGIN.left - 5, y(tick) + 3.5);
  }
  const columns = columnsOf(data, chart);
  [...columns].reverse().forEach((column, back) => {
    const { colour } = data.charts[chart].curves[columns.length - 1 - back];
    segment(Array.from(run.times, (t, k) => [x(t), y(run.charts[k * total + column])]), colour, 1.8);
  });
  segment([[x(time), MARGIN.top], [x(time), height - MARGIN.bottom]], "#111827", 1);
  const now = curvesAt(data, run, find(run.times, time));
  columns.forEach((column, k) => {
    disc(ctx, { x: x(time), y: y(now[column]) }, 3, data.charts[chart].curves[k].colour, 1, "#ffffff");
  });
}


/* The page around a player: buttons, slider, pointer and keys. It stands behind player.js in one script. */

function start(document, window) {
  const get = (id) => document.getElementById(id);
  const data = JSON.parse(get("motion").textContent), runs = data.runs.map(unpack);
  const canvas = get("canvas"), ctx = canvas.getContext("2d"), camera = new Camera(data);
  const wanted = new URLSearchParams(window.location.hash.slice(1));  // page.html#run=2&t=1.5
  const calm = window.matchMedia && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  let run = runs[Math.min(runs.length - 1, Math.max(0, parseInt(wanted.get("run"), 10) || 0))];
  let time = run.times[0], playing = !calm && !wanted.has("t") && run.times.length > 1, last = null, dirty = true;
  const ends = () => [run.times[0], run.times[run.times.length - 1]];
  const boxes = ["masses", "names", "trace", "follow", "pushes", "steps", "bones"].filter((id) => get(id));
  const shows = () => Object.fromEntries(boxes.map((id) => [id, get(id).checked]));
  const goesOn = () => run.shift && get("repeat").checked;
  const local = () => {  // the time within a lap
    const [first, final] = ends();
    return run.shift && final > first ? time - Math.floor((time - first) / (final - first)) * (final - first) : time;
  };

  function seek(to) {
    const [first, final] = ends();
    time = goesOn() ? Math.max(first, to) : Math.max(first, Math.min(final, to));
    dirty = true;
  }

  /* Stop at a time of the present lap, before its end: that belongs to the next one. */
  function choice(to) {
    const [first, final] = ends();
    play(false);
    seek(goesOn() ? time - local() + Math.min(to, final - 1e-6 * (final - first)) : to);
  }

  function play(on) {
    playing = on && run.times.length > 1;
    if (playing && time >= ends()[1]) seek(ends()[0]);
    last = null;
    get("play").textContent = playing ? "Pause" : "Play";
    get("play").setAttribute("aria-pressed", String(playing));
  }

  function choose(index) {
    run = runs[index];
    const [first, final] = ends();
    Object.assign(get("slider"), { min: first, max: final, step: (final - first) / 1000 || 1 });
    get("slider").disabled = get("play").disabled = final <= first;
    get("note").textContent = run.note;
    get("note").hidden = !run.note;
    seek(time);
  }

  // ---- curves and values of the joints

  const charts = [...document.querySelectorAll("canvas.chart")];

  const cells = data.coordinates.map(([name, unit]) => {
    const row = get("values").insertRow();
    row.insertCell().textContent = name;
    const cell = row.insertCell();
    row.insertCell().textContent = unit;
    return cell;
  });

  function show() {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio), canvas.height = Math.round(height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(camera, { width, height });
    paint(ctx, data, run, time, camera, shows());
    const row = between(run.q, cells.length, locate(run, time));
    cells.forEach((cell, k) => { cell.textContent = row[k].toFixed(4); });
    charts.forEach((chart, k) => drawChart(chart, data, run, k, local(), ratio));
    get("slider").value = local();
    get("time").textContent = `${local().toFixed(3)} s of ${ends()[1].toFixed(3)} s`;
  }

  function tick(now) {
    if (playing) {
      if (last !== null) {
        const next = time + (now - last) / 1000 * parseFloat(get("speed").value);
        if (next < ends()[1] || goesOn()) seek(next);
        else if (get("repeat").checked) seek(ends()[0]);
        else { seek(ends()[1]); play(false); }
      }
      last = now;
    }
    if (dirty) { dirty = false; show(); }
    window.requestAnimationFrame(tick);
  }

  // ---- what people do

  get("play").addEventListener("click", () => play(!playing));
  get("slider").addEventListener("input", () => { choice(parseFloat(get("slider").value)); });
  get("view").addEventListener("click", () => { camera.reset(); dirty = true; });
  for (const id of boxes) get(id).addEventListener("change", () => { dirty = true; });
  get("repeat").addEventListener("change", () => { seek(local()); camera.followed = null; });
  charts.forEach((chart) => {
    const point = (event) => {
      const [first, final] = ends(), share = chartShare(chart, event.clientX - chart.getBoundingClientRect().left);
      choice(first + share * (final - first));
    };
    chart.addEventListener("pointerdown", (event) => { chart.setPointerCapture(event.pointerId); point(event); });
    chart.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
  });
  runs.forEach((one, k) => {
    const option = document.createElement("option");
    option.value = String(k);
    option.textContent = one.name;
    get("run").append(option);
  });
  get("run").value = String(runs.indexOf(run));
  get("runs").hidden = runs.length < 2;
  get("run").addEventListener("change", () => { choose(parseInt(get("run").value, 10)); play(playing); });
  document.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|BUTTON)$/.test(event.target.tagName)) return;
    if (event.key === " ") play(!playing);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const [frame, share] = find(run.times, local()), next = frame + (event.key === "ArrowRight" ? 1 : share ? 0 : -1);
      choice(run.times[Math.max(0, Math.min(run.times.length - 1, next))]);
    } else return;
    event.preventDefault();
  });

  steer(canvas, camera, () => { dirty = true; });
  window.addEventListener("resize", () => { dirty = true; });

  choose(runs.indexOf(run));
  if (wanted.has("t")) seek(parseFloat(wanted.get("t")) || 0);
  play(playing);
  show();  // at once: a window in the background gets no frames
  window.requestAnimationFrame(tick);
}

if (typeof document === "object") start(document, window);

// ---- the ground: grid, shadows, footprints, the zero-moment point, forces on feet -----------------------

/* A point straight below or above on the ground. */
function down(data, p) {
  const [a, b] = data.ground ? data.ground.slope : [0, 0];
  return [p[0], p[1], data.floor - a * p[0] - b * p[1]];
}

/* A grid on the floor around where the camera looks, on round numbers. */
function grid(data, target) {
  const reach = 1.3 * data.reach, power = 10 ** Math.floor(Math.log10(reach / 5));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= reach / 5.01), lines = [];
  const count = Math.ceil(reach / step), x0 = step * Math.round(target[0] / step), y0 = step * Math.round(target[1] / step);
  const put = (...ends) => lines.push(ends.map((p) => down(data, p)));
  for (let k = -count; k <= count; k++) {
    put([x0 + k * step, y0 - count * step], [x0 + k * step, y0 + count * step]);
    put([x0 - count * step, y0 + k * step], [x0 + count * step, y0 + k * step]);
  }
  return lines;
}

/* Shadows straight below, of limbs or of rods. */
function shadows(ctx, data, poses, camera) {
  const middle = camera.see(down(data, camera.target));
  if (camera.eye[2] <= down(data, camera.eye)[2] || middle.z <= camera.near) return;
  if (data.limbs.length) {
    limbShadows(ctx, data, poses, camera);
    return;
  }
  const lines = data.scene.rods.filter((rod) => rod[8] !== "ground")
    .map((rod) => [down(data, spot(poses, rod)), down(data, spot(poses, rod, 4))]);
  strokes(ctx, camera, lines, "rgba(29,39,51,.10)", Math.max(1, 2 * WIDTH.link * data.mark * middle.scale));
}

const PUSH = "#c2410c", POINT = "#111827";

/* Forces on feet in weights, their centres of pressure, and the zero-moment point, at a place of a run. */
function groundAt(data, run, place) {
  const feet = data.ground.feet.length, row = between(run.ground, 6 * feet + 3, place), away = carried(run, place);
  const vector = (k) => [...row.subarray(3 * k, 3 * k + 3)];
  return {
    forces: data.ground.feet.map((_, k) => vector(k)),
    points: data.ground.feet.map((_, k) => add(vector(feet + k), away)),
    zmp: add(vector(2 * feet), away),
  };
}

/* Laps of which footprints and paths are shown: around the present one, or all of a run that does not repeat. */
const lapsAround = (run, place) => (run.shift ? [-1, 0, 1].map((k) => k + place[2]) : [0]);

/* Where soles stand, filled once they have come down; the path of the zero-moment point, pale where it is to come. */
function footprints(ctx, data, run, place, camera) {
  const first = run.times[0], span = run.times[run.times.length - 1] - first;
  const now = run.times[place[0]] + (place[1] ? place[1] * (run.times[place[0] + 1] - run.times[place[0]]) : 0);
  for (const lap of lapsAround(run, place)) {
    const away = carried(run, [0, 0, lap]), late = now + (place[2] - lap) * span;
    for (const one of run.prints || []) {
      const seen = one.corners.map((p) => camera.see(add(p, away)));
      if (seen.some((p) => p.z < camera.near)) continue;
      const { colour } = data.ground.feet[one.foot], stands = late >= one.from && late <= one.to;
      const comes = late < one.from, alpha = comes ? 0.05 : stands ? 0.5 : 0.3;
      polygon(ctx, seen, colour, alpha, shaded(colour, comes ? 1 : 0.7));
    }
  }
  for (const lap of lapsAround(run, place)) {
    const ahead = [], behind = [], away = carried(run, [0, 0, lap]);
    zmpPath(data, run).forEach(([p, q], k) => {
      const passed = lap < place[2] || (lap === place[2] && k < place[0]);
      (passed ? behind : ahead).push([add(p, away), add(q, away)]);
    });
    strokes(ctx, camera, ahead, POINT + "30", 1.2);
    strokes(ctx, camera, behind, POINT + "b0", 1.6);
  }
}

/* The path of the zero-moment point in one lap, kept with the run. */
function zmpPath(data, run) {
  if (!run.path) {
    const points = Array.from(run.times, (_, k) => groundAt(data, run, [k, 0, 0]).zmp);
    run.path = points.slice(1).map((p, k) => [points[k], p]);
  }
  return run.path;
}

/* Arrows from centres of pressure, and a dot at the zero-moment point: in front of everything. */
function groundForces(ctx, data, run, place, camera) {
  const { forces, points, zmp } = groundAt(data, run, place), total = forces.reduce((sum, f) => add(sum, f), [0, 0, 0]);
  const at = camera.see(zmp);
  if (at.z > camera.near && Math.hypot(...total) > 0.02) disc(ctx, at, 4, POINT, 1, "#ffffff");
  forces.forEach((force, k) => {
    if (Math.hypot(...force) < 0.02) return;
    const ends = line(camera, points[k], add(points[k], force, data.ground.scale));
    if (!ends) return;
    thickArrow(ctx, ...ends, "#ffffff", 7.5, 20);
    thickArrow(ctx, ...ends, PUSH, 4, 15);
  });
}

function thickArrow(ctx, a, b, colour, width, head) {
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  if (length < 1) return;
  const u = [(b.x - a.x) / length, (b.y - a.y) / length], size = Math.min(head, 0.6 * length);
  const rim = (width - 4) / 2, tip = [b.x + rim * u[0], b.y + rim * u[1]];
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = width;
  ctx.lineCap = "round";
  ctx.beginPath();
  ctx.moveTo(a.x, a.y);
  ctx.lineTo(b.x - 0.8 * size * u[0], b.y - 0.8 * size * u[1]);
  ctx.stroke();
  trail(ctx, [tip, ...[-0.42, 0.42].map((side) => [
    tip[0] - size * (u[0] + side * u[1]), tip[1] - size * (u[1] - side * u[0])])]);
  ctx.fill();
}


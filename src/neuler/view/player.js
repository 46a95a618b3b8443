"use strict";
/* What a player shows at a time: bodies placed between stored frames, seen by a camera, painted from far to near.
   It needs a 2-D canvas and nothing else; what listens to people is in player_page.js. */

// ---- stored numbers ------------------------------------------------------------------------------

/* An array of numbers from base64 of its bytes, little-endian. */
function decode(text, Kind) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  return new Kind(bytes.buffer);
}

/* A run with its arrays: times (frames), poses (frames, bodies, 9), q (frames, nq), forces (frames, arrows, 6),
   ground (frames, forces of feet, centres of pressure, zero-moment point), charts (frames, curves). */
function unpack(run) {
  return {
    ...run, times: decode(run.times, Float64Array), poses: decode(run.poses, Float32Array),
    q: decode(run.q, Float32Array), forces: decode(run.forces, Float32Array),
    ground: decode(run.ground || "", Float32Array), charts: decode(run.charts || "", Float32Array),
  };
}

/* The frame at or before a time, and the share of the way to the next one. */
function find(times, time) {
  let low = 0, high = times.length - 1;
  if (high < 1 || time <= times[0]) return [0, 0];
  if (time >= times[high]) return [high, 0];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  return [low, (time - times[low]) / (times[high] - times[low])];
}

/* The same of a run, and its lap: one that repeats itself goes on after its end, moved by its shift each time. */
function locate(run, time) {
  const first = run.times[0], span = run.times[run.times.length - 1] - first;
  const lap = run.shift && span > 0 ? Math.floor((time - first) / span) : 0;
  return [...find(run.times, time - lap * span), lap];
}

/* How far a place of a run has been moved by its laps. */
const carried = (run, place) => (run.shift && place[2] ? run.shift.map((x) => x * place[2]) : [0, 0, 0]);

/* Numbers of a row between two frames. */
function between(data, width, [frame, share]) {
  const from = frame * width, found = new Float64Array(width);
  for (let k = 0; k < width; k++) {
    found[k] = share ? data[from + k] * (1 - share) + data[from + width + k] * share : data[from + k];
  }
  return found;
}

/* Poses of all bodies at a time, 12 numbers each: the columns x, y, z of the rotation, then the origin. */
function placed(run, bodies, place) {
  const found = new Float64Array(12 * bodies), width = 9 * bodies;
  const away = carried(run, place);
  const row = between(run.poses, width, place), here = run.poses.subarray(place[0] * width, (place[0] + 1) * width);
  for (let b = 0; b < bodies; b++) {
    let x = row.subarray(9 * b + 3, 9 * b + 6), y = row.subarray(9 * b + 6, 9 * b + 9);
    if (Math.hypot(...x) < 0.1 || Math.hypot(...y) < 0.1) {  // half a turn between two frames
      x = here.subarray(9 * b + 3, 9 * b + 6), y = here.subarray(9 * b + 6, 9 * b + 9);
    }
    const u = unit(x), v = unit(add(y, u, -dot(u, y)));
    found.set(u, 12 * b), found.set(v, 12 * b + 3), found.set(cross(u, v), 12 * b + 6);
    found.set(add(row.subarray(9 * b, 9 * b + 3), away), 12 * b + 9);
  }
  return found;
}

// ---- vectors ---------------------------------------------------------------------------------------

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const add = (a, b, k = 1) => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];
const unit = (a) => { const n = Math.hypot(a[0], a[1], a[2]) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
const mix = (a, b, s) => [a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1]), a[2] + s * (b[2] - a[2])];

/* A point of a body, or with ``origin`` 0 a direction, in the base frame. */
function moved(poses, body, p, origin = 1) {
  const b = 12 * body, found = [0, 0, 0];
  for (let k = 0; k < 3; k++) {
    found[k] = poses[b + k] * p[0] + poses[b + 3 + k] * p[1] + poses[b + 6 + k] * p[2] + origin * poses[b + 9 + k];
  }
  return found;
}

const spot = (poses, s, from = 0) => moved(poses, s[from], [s[from + 1], s[from + 2], s[from + 3]]);

// ---- the camera ------------------------------------------------------------------------------------

class Camera {
  constructor({ centre, distance, azimuth, elevation }) {
    this.home = { azimuth, elevation, target: centre, distance };
    this.reset();
    this.look(100, 100);
  }

  reset() { Object.assign(this, this.home, { target: [...this.home.target], followed: null }); }

  /* Take the size of the canvas, and the axes from the angles. */
  look(width, height) {
    const a = this.azimuth * Math.PI / 180, e = this.elevation * Math.PI / 180;
    this.back = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
    this.right = [-Math.sin(a), Math.cos(a), 0];
    this.up = cross(this.back, this.right);
    this.eye = add(this.target, this.back, this.distance);
    Object.assign(this, { width, height, focal: 1.5 * Math.min(width, height), near: 0.02 * this.distance });
  }

  /* Where a point is seen: pixels, its depth, and pixels for a metre there. */
  see(p) {
    const d = add(p, this.target, -1), z = this.distance - dot(d, this.back), scale = this.focal / z;
    return { x: this.width / 2 + dot(d, this.right) * scale, y: this.height / 2 - dot(d, this.up) * scale, z, scale };
  }

  orbit(dx, dy) {
    this.azimuth -= 0.4 * dx;
    this.elevation = Math.max(-89, Math.min(89, this.elevation + 0.4 * dy));
  }

  zoom(factor) {
    const least = 0.02 * this.home.distance, most = 50 * this.home.distance;
    this.distance = Math.max(least, Math.min(most, this.distance * factor));
  }

  shift(dx, dy) {
    const metres = this.distance / this.focal;
    this.target = add(add(this.target, this.right, -dx * metres), this.up, dy * metres);
  }
}

// ---- painting --------------------------------------------------------------------------------------

const COLOUR = {
  link: "#5b7086", slide: "#0f766e", ground: "#b8c1cb", mass: "#3b6fb6", cut: "#a16207", force: "#b91c1c",
  moment: "#7e22ce", grid: "#dfe4ea", ink: "#1d2733", trace: "#c2410c",
  lit: "#2563eb",
};
const WIDTH = { link: 0.3, slide: 0.16, ground: 0.14 };  // radius of a rod, of a joint's mark
const LIGHT = unit([0.35, -0.55, 0.76]);  // in the base frame, for faces
const LAMP = unit([-0.45, -0.6, 0.66]);  // on the screen, for rods: right, down, to the eye

function shaded(colour, light) {
  const n = parseInt(colour.slice(1), 16);
  const part = (k) => Math.max(0, Math.min(255, Math.round(((n >> k) & 255) * light)));
  return `rgb(${part(16)},${part(8)},${part(0)})`;
}

function pale(colour) {
  const n = parseInt(colour.slice(1), 16);
  const part = (k) => Math.round(0.28 * ((n >> k) & 255) + 0.72 * 255).toString(16).padStart(2, "0");
  return `#${part(16)}${part(8)}${part(0)}`;
}

/* A rod between two points that are seen, round at both ends, lit as a cylinder is. */
function capsule(ctx, a, b, ra, rb, colour) {
  const along = Math.atan2(b.y - a.y, b.x - a.x), n = [-Math.sin(along), Math.cos(along)], r = Math.max(ra, rb);
  const middle = [(a.x + b.x) / 2, (a.y + b.y) / 2];
  const fill = ctx.createLinearGradient(
    middle[0] - r * n[0], middle[1] - r * n[1], middle[0] + r * n[0], middle[1] + r * n[1]);
  for (const u of [-1, -0.6, -0.2, 0.2, 0.6, 1]) {
    const light = u * (n[0] * LAMP[0] + n[1] * LAMP[1]) + Math.sqrt(1 - u * u) * LAMP[2];
    fill.addColorStop((u + 1) / 2, shaded(colour, 0.62 + 0.55 * Math.max(0, light)));
  }
  ctx.beginPath();
  ctx.arc(a.x, a.y, ra, along + Math.PI / 2, along + 1.5 * Math.PI);
  ctx.arc(b.x, b.y, rb, along - Math.PI / 2, along + Math.PI / 2);
  ctx.closePath();
  ctx.fillStyle = fill;
  ctx.fill();
}

function polygon(ctx, points, colour, alpha = 1, edge = colour) {
  ctx.beginPath();
  points.forEach((p, k) => (k ? ctx.lineTo(p.x, p.y) : ctx.moveTo(p.x, p.y)));
  ctx.closePath();
  ctx.globalAlpha = alpha;
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = edge;
  ctx.lineWidth = 0.7;
  ctx.stroke();
}

/* An arrow with one head, or two for a moment. */
function arrow(ctx, a, b, colour, heads) {
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  if (length < 1) return;
  const u = [(b.x - a.x) / length, (b.y - a.y) / length], head = Math.min(11, 0.6 * length);
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 2.4;
  ctx.beginPath();
  ctx.moveTo(a.x, a.y);
  ctx.lineTo(b.x - 0.8 * head * u[0], b.y - 0.8 * head * u[1]);
  ctx.stroke();
  for (let k = 0; k < heads; k++) {
    const x = b.x - 0.7 * k * head * u[0], y = b.y - 0.7 * k * head * u[1];
    ctx.beginPath();
    ctx.moveTo(x, y);
    for (const side of [-0.42, 0.42]) {
      ctx.lineTo(x - head * (u[0] + side * u[1]), y - head * (u[1] - side * u[0]));
    }
    ctx.fill();
  }
}

/* Both ends of a line as seen, cut where it comes behind the camera; null where all of it is there. */
function line(camera, p, q) {
  let a = camera.see(p), b = camera.see(q);
  if (a.z < camera.near && b.z < camera.near) return null;
  if (a.z < camera.near) a = camera.see(mix(p, q, (camera.near - a.z) / (b.z - a.z) + 1e-9));
  else if (b.z < camera.near) b = camera.see(mix(q, p, (camera.near - b.z) / (a.z - b.z) + 1e-9));
  return [a, b];
}

/* All that is painted with its depth: an array of [depth, function of the context]. */
function items(data, run, place, camera, shows) {
  const found = [], poses = placed(run, data.bodies, place), { scene, size, mark } = data, front = mark + 0.03 * size;
  const put = (z, paint) => { if (z > camera.near) found.push([z, paint]); };
  const named = (one) => {
    const at = camera.see(moved(poses, one.body, one.centre));
    put(0.5 * at.z, (ctx) => label(ctx, at, one.name));
  };
  const lit = (one) => shows.lit && shows.lit.body === one.body, called = (one) => shows.names || lit(one);
  const tint = (body, colour) => (shows.lit && shows.lit.bodies.has(body) ? COLOUR.lit : colour);
  limbItems(data, poses, camera, shows.bones ? 0.35 : 1, put, tint);
  for (const rod of data.limbs.length && !shows.bones ? [] : scene.rods) {
    if (data.limbs.length && rod[8] !== "link") continue;  // what carries a body that has limbs is no part of it
    const from = spot(poses, rod), to = spot(poses, rod, 4), kind = rod[8], radius = WIDTH[kind] * mark;
    const length = Math.hypot(...add(to, from, -1)), colour = tint(rod[4], COLOUR[kind]);
    const pieces = Math.max(1, Math.min(40, Math.ceil(length / (0.06 * size))));
    for (let k = 0; k < pieces; k++) {
      const a = camera.see(mix(from, to, k / pieces)), b = camera.see(mix(from, to, (k + 1) / pieces));
      if (a.z <= camera.near || b.z <= camera.near) continue;
      put((a.z + b.z) / 2, (ctx) => capsule(ctx, a, b, radius * a.scale, radius * b.scale, colour));
    }
  }
  for (const one of scene.marks) {
    if (data.limbs.length && !shows.bones) {
      if (called(one)) named(one);
      continue;
    }
    const shape = scene.shapes[one.symbol], own = lit(one) ? COLOUR.lit : shape.colour;
    const colour = one.filled ? own : pale(own);
    for (const face of shape.faces) {
      const corners = face.map((p) => {
        const turned = one.turn.map((row, k) => one.centre[k] + mark * dot(row, p));
        return moved(poses, one.body, turned);
      });
      const middle = mix(mix(corners[0], corners[2], 0.5), mix(corners[1], corners[3], 0.5), 0.5);
      const normal = unit(cross(add(corners[2], corners[0], -1), add(corners[3], corners[1], -1)));
      if (dot(normal, add(camera.eye, middle, -1)) <= 0) continue;
      const seen = corners.map((p) => camera.see(p)), light = 0.78 + 0.26 * dot(normal, LIGHT);
      const tone = shaded(colour, light), edge = one.filled ? tone : shaded(colour, 0.88 * light);
      put(camera.see(middle).z - 0.3 * mark - 0.03 * size, (ctx) => polygon(ctx, seen, tone, 1, edge));
    }
    if (called(one)) named(one);
  }
  for (const one of scene.plates) {
    const world = one.corners.map((p) => moved(poses, one.body, p)), seen = world.map((p) => camera.see(p));
    const z = seen.reduce((sum, p) => sum + p.z, 0) / seen.length;
    if (seen.some((p) => p.z < camera.near)) continue;
    put(z, (ctx) => polygon(ctx, seen, one.ground ? COLOUR.ink : COLOUR.mass, one.ground ? 0.08 : 0.3, COLOUR.link));
  }
  for (const one of scene.cuts) {
    const at = camera.see(spot(poses, one));
    put(at.z - front, (ctx) => disc(ctx, at, 0.34 * mark * at.scale, "#ffffff", 1, COLOUR.cut));
  }
  if (shows.masses) {
    const most = Math.max(...scene.masses.map((one) => one[4]));
    for (const one of scene.masses) {
      const at = camera.see(spot(poses, one)), radius = 1.6 * mark * Math.cbrt(one[4] / most);
      put(at.z - radius, (ctx) => disc(ctx, at, radius * at.scale, COLOUR.mass, 0.4, COLOUR.mass));
    }
  }
  const wrench = between(run.forces, 6 * data.forces.length, place);
  data.forces.forEach((one, k) => {
    const from = spot(poses, one.spot);
    for (const [part, scale, heads] of [["force", data.force_scale, 1], ["moment", data.moment_scale, 2]]) {
      const at = 6 * k + 3 * (heads - 1), to = add(from, wrench.subarray(at, at + 3), scale), ends = line(camera, from, to);
      if (ends) put((ends[0].z + ends[1].z) / 2 - front, (ctx) => arrow(ctx, ...ends, COLOUR[part], heads));
    }
  });
  return found;
}

function disc(ctx, at, radius, colour, alpha, edge) {
  ctx.beginPath();
  ctx.arc(at.x, at.y, Math.max(1.5, radius), 0, 2 * Math.PI);
  ctx.globalAlpha = alpha;
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = edge;
  ctx.lineWidth = 1.4;
  ctx.stroke();
}

function label(ctx, at, text) {
  ctx.font = "11px ui-sans-serif, system-ui, sans-serif";
  ctx.lineWidth = 3;
  ctx.strokeStyle = "rgba(255,255,255,.85)";
  ctx.strokeText(text, at.x + 8, at.y - 6);
  ctx.fillStyle = COLOUR.ink;
  ctx.fillText(text, at.x + 8, at.y - 6);
}

function strokes(ctx, camera, lines, colour, width) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.lineCap = "round";
  ctx.beginPath();
  for (const [p, q] of lines) {
    const ends = line(camera, p, q);
    if (ends) { ctx.moveTo(ends[0].x, ends[0].y); ctx.lineTo(ends[1].x, ends[1].y); }
  }
  ctx.stroke();
}

/* Paint a moment of a run. */
function paint(ctx, data, run, time, camera, shows) {
  const place = locate(run, time);
  if (shows.follow) {
    const at = followed(data, run, place);
    if (camera.followed) camera.target = add(camera.target, add(at, camera.followed, -1));
    else if (run.shift) camera.target = add(camera.home.target, at);
    camera.followed = at;
  } else camera.followed = null;
  camera.look(camera.width, camera.height);
  ctx.clearRect(0, 0, camera.width, camera.height);
  strokes(ctx, camera, grid(data, camera.target), COLOUR.grid, 1);
  shadows(ctx, data, placed(run, data.bodies, place), camera);
  if (data.ground && shows.steps) footprints(ctx, data, run, place, camera);
  if (shows.trace) strokes(ctx, camera, trace(data, run), COLOUR.trace + "80", 1.3);
  const all = items(data, run, place, camera, shows);
  all.sort((a, b) => b[0] - a[0]);
  for (const [, draw] of all) draw(ctx);
  if (data.ground && shows.pushes) groundForces(ctx, data, run, place, camera);
  triad(ctx, camera);
}

/* What the camera goes along with: a run that repeats itself evenly, or else the first body that moves. */
function followed(data, run, place) {
  if (run.shift) {
    const [frame, share, lap] = place, times = run.times, first = times[0], last = times[times.length - 1];
    const time = times[frame] + (share ? share * (times[frame + 1] - times[frame]) : 0);
    return run.shift.map((x) => x * (lap + (time - first) / (last - first || 1)));
  }
  const all = placed(run, data.bodies, place), first = 12 * Math.min(1, data.bodies - 1);
  return [...all.subarray(first + 9, first + 12)];
}

/* The way of the robot's tip through a whole run, kept with the run. */
function trace(data, run) {
  if (!run.trace) {
    const points = Array.from(run.times, (_, k) => spot(placed(run, data.bodies, [k, 0]), data.tip));
    run.trace = points.slice(1).map((p, k) => [points[k], p]);
  }
  return run.trace;
}

function triad(ctx, camera) {
  const at = { x: 34, y: camera.height - 34 };
  [["x", "#b91c1c"], ["y", "#15803d"], ["z", "#1d4ed8"]].forEach(([name, colour], k) => {
    const x = at.x + 24 * camera.right[k], y = at.y - 24 * camera.up[k];
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.lineWidth = 1.6;
    ctx.beginPath();
    ctx.moveTo(at.x, at.y);
    ctx.lineTo(x, y);
    ctx.stroke();
    ctx.font = "11px ui-sans-serif, system-ui, sans-serif";
    ctx.fillText(name, x + 3, y - 2);
  });
}

if (typeof module === "object") {
  module.exports = {
    unpack, find, locate, between, placed, spot, Camera, items, paint, hull, groundAt, curvesAt, paintChart,
  };
}

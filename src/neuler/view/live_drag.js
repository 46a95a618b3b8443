/* Dragging on the drawing: what is pressed follows the pointer, moved by the nearest joint that can move it. */

const BESIDE = { mouse: 5, pen: 8, touch: 14 };  // pixels beside a body that still press it
const LEAST = 12;  // pixels by which a joint moves a point in a radian, or the robot's size, or else it cannot
const LEVER = 0.3;  // length of a joint's handle, of the robot's size
const FINEST = 0.05;  // pixels

/* A point of a body in the base frame, from origin, x and y of all bodies. */
function pointOf(numbers, body, p) {
  const [origin, x, y] = [0, 3, 6].map((k) => numbers.subarray(9 * body + k, 9 * body + k + 3));
  return add(add(add(origin, x, p[0]), y, p[1]), cross(x, y), p[2]);
}

/* A direction of the base frame in the axes of a body. */
function turnedBack(numbers, body, v) {
  const [x, y] = [3, 6].map((k) => numbers.subarray(9 * body + k, 9 * body + k + 3));
  return [dot(x, v), dot(y, v), dot(cross(x, y), v)];
}

// ---- what moves --------------------------------------------------------------------------------------

/* A joint with its numbers in q: rows of the table. It moves ``bodies``; ``body`` is the first of them. */
class MovedJoint {
  constructor(rows, size) {
    this.body = rows[0].body;
    this.numbers = rows.map((row) => ({ ...row, natural: row.unit === "m" ? size : 1 }));
  }

  /* By how many pixels a point goes when each number changes by a radian, or the robot's size; ``seen``: of q. */
  slopes(seen, q) {
    return this.numbers.map(({ place, natural }) => {
      const x = q.slice(), h = 1e-6 * natural, [ahead, behind] = [h, -h].map((step) => {
        x[place] = q[place] + step;
        return seen(x);
      });
      return [0.5e6 * (ahead.x - behind.x), 0.5e6 * (ahead.y - behind.y)];
    });
  }

  span(seen, q) { return Math.max(...this.slopes(seen, q).map(([x, y]) => Math.hypot(x, y))); }

  /* Move q so that the point is seen as near to the target as the joint allows (Levenberg and Marquardt). */
  follow(seen, q, target) {
    const missed = (x) => { const at = seen(x); return [target.x - at.x, target.y - at.y]; };
    let damping = 1e-3, miss = missed(q);
    for (let k = 0; k < 30 && damping < 1e6 && Math.hypot(...miss) > FINEST; k++) {
      const slopes = this.slopes(seen, q), sum = (i, j) => slopes.reduce((all, s) => all + s[i] * s[j], 0);
      const more = damping * (sum(0, 0) + sum(1, 1)) + 1e-9, a = sum(0, 0) + more, b = sum(0, 1), c = sum(1, 1) + more;
      const u = (c * miss[0] - b * miss[1]) / (a * c - b * b), v = (a * miss[1] - b * miss[0]) / (a * c - b * b);
      const ways = slopes.map(([x, y]) => x * u + y * v), short = 0.5 / Math.max(0.5, ...ways.map(Math.abs));
      const trial = q.slice();
      this.numbers.forEach((number, i) => {
        trial[number.place] = within(number, q[number.place] + short * number.natural * ways[i]);
      });
      const after = missed(trial);
      if (Math.hypot(...after) < Math.hypot(...miss)) {
        q.set(trial);
        miss = after;
        damping = Math.max(damping / 10, 1e-6);
      } else damping *= 10;
    }
  }
}

/* Within the limits; a joint that turns without any goes round. */
function within({ lower, upper, round }, x) {
  if (round) return x - (upper - lower) * Math.floor((x - lower) / (upper - lower));
  return Math.max(lower, Math.min(upper, x));
}

/* A robot with loops, which goes along positions that close them: rows of numbers, and the slider that has the row. */
class MovedAlong {
  constructor(rows, slider, bodies) { Object.assign(this, { rows, slider, bodies, body: null }); }

  span(seen) {
    const spots = this.rows.map(seen);
    return Math.max(...spots.map((at) => Math.hypot(at.x - spots[0].x, at.y - spots[0].y)));
  }

  /* The nearest row that comes before one farther away, either way from the present one. */
  follow(seen, q, target) {
    const far = this.rows.map((row) => { const at = seen(row); return Math.hypot(at.x - target.x, at.y - target.y); });
    let best = Math.round(parseFloat(this.slider.value));
    for (const step of [1, -1]) {
      for (let k = best + step; far[k] <= far[best]; k += step) best = k;
    }
    this.slider.value = best;
    q.set(this.rows[best]);
  }
}

/* All joints that have sliders, those that move few bodies first; ``compute``: q to the numbers of all bodies. */
function movedJoints(data, first, compute) {
  const groups = new Map(), home = compute(first).slice();
  for (const row of data.rows) {
    if (row.lower !== undefined) groups.set(row.body, [...(groups.get(row.body) ?? []), row]);
  }
  const found = [...groups.values()].map((rows) => {
    const one = new MovedJoint(rows, data.size), x = first.slice();
    for (const { place, natural } of one.numbers) x[place] += 0.1 * natural;
    one.bodies = new Set();
    compute(x).forEach((value, k) => {
      if (Math.abs(value - home[k]) > 1e-9 * (1 + data.size)) one.bodies.add(Math.floor(k / 9));
    });
    return one;
  });
  return found.sort((a, b) => a.bodies.size - b.bodies.size);
}

// ---- what is pressed ---------------------------------------------------------------------------------

/* Rods between balls as [point, radius, point, radius, body that owns them, whether it is a joint's mark]. */
function pressable(data, poses) {
  const found = data.limbs.flatMap(({ balls }) => balls.slice(-Math.max(1, balls.length - 1)).map((ball) =>
    [spot(poses, balls[0]), balls[0][4], spot(poses, ball), ball[4], balls[0][0], false]));
  if (found.length) return found;
  for (const rod of data.scene.rods) {
    const radius = WIDTH[rod[8]] * data.mark;
    found.push([spot(poses, rod), radius, spot(poses, rod, 4), radius, rod[4], false]);
  }
  const thick = 0.45 * data.mark;
  for (const { body, centre, turn, symbol } of data.scene.marks) {
    const tall = Math.max(...data.scene.shapes[symbol].faces.flat().map((p) => p[2])) * data.mark;
    const axis = turn.map((row) => row[2]), half = Math.max(0, tall - thick);
    found.push([moved(poses, body, add(centre, axis, -half)), thick, moved(poses, body, add(centre, axis, half)), thick,
      body, true]);
  }
  for (const { body, corners } of data.scene.plates) {
    const rim = corners.map((p) => moved(poses, body, p));
    rim.forEach((p, k) => found.push([p, 0, rim[(k + 1) % rim.length], 0, body, false]));
  }
  return found;
}

/* What is drawn at a place of the canvas, or so many pixels beside it: { body, point, mark }; null where nothing is. */
function pressed(data, poses, camera, x, y, beside) {
  let best = null;
  for (const [p, from, q, to, body, mark] of pressable(data, poses)) {
    const a = camera.see(p), b = camera.see(q);
    if (a.z <= camera.near || b.z <= camera.near) continue;
    const [u, v] = [b.x - a.x, b.y - a.y], along = ((x - a.x) * u + (y - a.y) * v) / (u * u + v * v || 1);
    const s = Math.max(0, Math.min(1, along)), scale = a.scale + s * (b.scale - a.scale);
    const away = Math.hypot(x - a.x - s * u, y - a.y - s * v) - (from + s * (to - from)) * scale;
    if (away > beside) continue;
    const depth = a.z + s * (b.z - a.z) - (mark ? 0.06 * data.size : 0);  // as it is painted
    const one = { body, mark, away: Math.max(0, away), depth, point: mix(p, q, s * a.z / (b.z + s * (a.z - b.z))) };
    if (!best || one.away < best.away || (one.away === best.away && one.depth <= best.depth)) best = one;
  }
  return best;
}

/* What takes hold of the drawing for ``steer``. ``poses``: of all bodies as they are painted; ``changed``: after q is. */
class Hand {
  constructor(canvas, data, camera, { q, compute, poses, moves, changed, shown }) {
    Object.assign(this, { canvas, data, camera, q, compute, poses, moves, changed, shown, over: null, holds: null });
  }

  /* The joint that what is pressed goes by, and the point that follows; null where there is none. */
  chosen(x, y, beside) {
    const hit = pressed(this.data, this.poses(), this.camera, x, y, beside);
    if (!hit) return null;
    const now = this.compute(this.q).slice(), origin = now.subarray(9 * hit.body, 9 * hit.body + 3);
    const point = turnedBack(now, hit.body, add(hit.point, origin, -1));
    const able = this.moves.filter((one) => one.bodies.has(hit.body)), own = able.find((one) => one.body === hit.body);
    if (hit.mark && own) return this.handle(own, now, hit);
    const seen = this.seen(hit.body, point), mover = able.find((one) => one.span(seen, this.q) > LEAST);
    if (mover) return { mover, seen };
    return own ? this.handle(own, now, hit) : null;
  }

  /* A joint itself: by a handle across its axis, towards the eye or, where that is the axis, up the screen. */
  handle(mover, now, { body, point }) {
    const ways = [this.camera.back, this.camera.up].map((way) => {
      const end = add(add(point, now.subarray(9 * body, 9 * body + 3), -1), way, LEVER * this.data.size);
      const seen = this.seen(body, turnedBack(now, body, end));
      return { mover, seen, span: mover.span(seen, this.q) };
    });
    const found = ways[0].span > 0.5 * ways[1].span ? ways[0] : ways[1];
    return found.span > LEAST ? found : null;
  }

  seen(body, point) { return (q) => this.camera.see(pointOf(this.compute(q), body, point)); }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left - this.canvas.clientLeft, event.clientY - box.top - this.canvas.clientTop];
  }

  /* Show what would move, or that nothing would. */
  hover(event) {
    this.mark(event && this.chosen(...this.place(event), BESIDE[event.pointerType] ?? BESIDE.mouse));
  }

  mark(found) {
    const before = this.over;
    this.over = found ? found.mover : null;
    this.canvas.dataset.hand = this.holds ? "holds" : found ? "over" : "";
    if (this.over !== before) this.shown();
  }

  press(event) {
    const [x, y] = this.place(event), plain = event.button === 0 && !event.shiftKey;
    const found = plain ? this.chosen(x, y, BESIDE[event.pointerType] ?? BESIDE.mouse) : null;
    if (found) {
      const at = found.seen(this.q);
      this.holds = { ...found, dx: at.x - x, dy: at.y - y };
    }
    this.mark(found);
  }

  drag(event) {
    const { mover, seen, dx, dy } = this.holds, [x, y] = this.place(event);
    mover.follow(seen, this.q, { x: x + dx, y: y + dy });
    this.changed();
  }

  drop() {
    this.holds = null;
    this.mark(null);
  }
}

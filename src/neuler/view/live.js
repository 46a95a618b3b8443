/* The part of a report in which joints are moved: poses and forces are computed by WebAssembly that the page holds. */

function live(document, window) {
  const get = (id) => document.getElementById(`live-${id}`);
  const data = JSON.parse(get("data").textContent), canvas = get("canvas"), ctx = canvas.getContext("2d");
  const run = unpack(data.runs[0]), camera = new Camera(data), path = decode(data.path, Float64Array);
  const first = decode(data.first, Float64Array), q = first.slice();
  const bodies = 9 * data.bodies, forces = new Float64Array(data.rows.length), most = new Float64Array(forces.length);
  let compute = null, hand = null, waiting = false;

  // ---- what is shown

  function show() {
    waiting = false;
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio), canvas.height = Math.round(height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(camera, { width, height });
    const lit = hand && (hand.holds ? hand.holds.mover : hand.over);
    paint(ctx, data, run, 0, camera, { names: get("names").checked, masses: get("masses").checked, lit });
    cells.forEach(({ row }, k) => row.classList.toggle("lit", Boolean(lit) && lit.body === data.rows[k].body));
  }

  const later = () => { if (!waiting) { waiting = true; window.requestAnimationFrame(show); } };

  const digits = (x) => {
    if (!Number.isFinite(x)) return "not defined";
    const size = Math.abs(x) < 5e-5 ? 0 : x;
    return size.toFixed(Math.abs(size) < 10 ? 3 : Math.abs(size) < 100 ? 2 : Math.abs(size) < 1e4 ? 1 : 0);
  };

  function write(cell, x) {
    cell.textContent = digits(x).replace("-", "\u2212");
    cell.dataset.value = String(x);
  }

  const cells = data.rows.map(({ name, place, lower, upper, unit, forceUnit }) => {
    const row = get("rows").insertRow(), head = document.createElement("th"), found = {};
    head.textContent = head.title = name;
    head.scope = "row";
    row.append(head);
    const seat = row.insertCell();
    if (lower !== undefined) {
      const slider = Object.assign(document.createElement("input"), { type: "range", min: lower, max: upper, step: "any" });
      slider.setAttribute("aria-label", `${name}, ${unit}`);
      slider.value = q[place];
      slider.addEventListener("input", () => { q[place] = parseFloat(slider.value); moved(); });
      seat.append(slider);
      found.slider = slider;
    }
    found.position = row.insertCell();
    row.insertCell().textContent = unit;
    found.force = row.insertCell();
    row.insertCell().textContent = forceUnit;
    const bar = document.createElement("span");
    row.insertCell().append(bar);
    return { ...found, row, bar };
  });

  /* All forces and the pose of the present position. */
  function moved() {
    if (!compute) return;
    const poses = compute(q);
    if (poses.every(Number.isFinite)) run.poses.set(poses);
    cells.forEach(({ position, force, bar }, k) => {
      const { place, limit } = data.rows[k], scale = limit ?? Math.max(most[k], 1e-12), share = forces[k] / scale;
      if (place === undefined) position.textContent = "";
      else write(position, q[place]);
      write(force, forces[k]);
      const width = Number.isFinite(share) ? Math.min(1, Math.abs(share)) : 0;
      bar.style.width = `${50 * width}%`;
      bar.style.left = `${share < 0 ? 50 - 50 * width : 50}%`;
      bar.className = limit !== undefined && Math.abs(share) > 1 ? "over" : "";
    });
    later();
  }

  /* The largest forces, for the scale of the bars: at many places of the sliders, or along the way. */
  function measure() {
    let seed = 1;
    const random = () => (seed = (16807 * seed) % 2147483647) / 2147483647, at = first.slice();
    const rows = path.length / q.length;
    for (let k = 0; k < (rows || 300); k++) {
      if (rows) at.set(path.subarray(k * q.length, (k + 1) * q.length));
      for (const { place, lower, upper } of data.rows) {
        if (lower !== undefined) at[place] = lower + random() * (upper - lower);
      }
      compute(at);
      forces.forEach((x, j) => { if (Math.abs(x) > most[j]) most[j] = Math.abs(x); });
    }
  }

  // ---- what people do

  /* After q has changed elsewhere than at the sliders. */
  function changed() {
    cells.forEach(({ slider }, k) => { if (slider) slider.value = q[data.rows[k].place]; });
    moved();
  }

  function reset() {
    q.set(first);
    if (get("way")) get("way").value = 0;
    changed();
  }

  get("reset").addEventListener("click", reset);
  get("view").addEventListener("click", () => { camera.reset(); later(); });
  for (const id of ["names", "masses"]) get(id).addEventListener("change", later);
  if (get("way")) {
    get("way").addEventListener("input", () => {
      const row = Math.round(parseFloat(get("way").value));
      q.set(path.subarray(row * q.length, (row + 1) * q.length));
      moved();
    });
  }
  window.addEventListener("resize", later);

  const fail = (error) => {
    steer(canvas, camera, later, true);
    get("note").textContent = `Forces are not computed here: this browser runs no WebAssembly (${error.message}).`;
    get("note").hidden = false;
    show();
  };
  if (typeof WebAssembly !== "object") return fail(new Error("it is missing"));
  return WebAssembly.instantiate(decode(data.wasm, Uint8Array), { math: Math }).then(({ instance }) => {
    const { memory, start, run: call } = instance.exports, at = start.value;
    const numbers = new Float64Array(memory.buffer, at, q.length + bodies + forces.length);
    compute = (x) => {
      numbers.set(x);
      call(at, at + 8 * q.length, at + 8 * (q.length + bodies));
      forces.set(numbers.subarray(q.length + bodies));
      return numbers.subarray(q.length, q.length + bodies);
    };
    measure();
    const rows = Array.from({ length: path.length / q.length }, (_, k) => path.subarray(k * q.length, (k + 1) * q.length));
    const all = new Set(Array.from({ length: data.bodies - 1 }, (_, k) => k + 1));
    const moves = rows.length ? [new MovedAlong(rows, get("way"), all)] : movedJoints(data, first, compute);
    const poses = () => placed(run, data.bodies, [0, 0]);
    hand = new Hand(canvas, data, camera, { q, compute, poses, moves, changed, shown: later });
    steer(canvas, camera, later, true, hand);
    reset();
    show();
  }).catch(fail);
}

if (typeof document === "object") live(document, window);

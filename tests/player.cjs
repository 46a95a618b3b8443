// Runs parts of a page's script on its data: node player.cjs SCRIPT DATA < questions > answers, both JSON.
const fs = require("fs");
const shown = require(process.argv[2]);
const data = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
const runs = data.runs.map(shown.unpack);
const asked = JSON.parse(fs.readFileSync(0, "utf8"));

/* A context that keeps what is painted, in order. */
function recorder() {
  const calls = [];
  const known = { createLinearGradient: () => ({ addColorStop: (at, colour) => calls.push(["stop", at, colour]) }) };
  const context = new Proxy(known, {
    get: (target, name) => target[name] || ((...given) => { calls.push([name, ...given]); }),
    set: () => true,
  });
  return [calls, context];
}

const answers = asked.map(({ what, run = 0, time = 0, width = 800, height = 600, points = [], shows = {}, moves = [] }) => {
  const camera = new shown.Camera(data);
  for (const [name, ...given] of moves) camera[name](...given);
  Object.assign(camera, { width, height });
  camera.look(width, height);
  const place = shown.locate(runs[run], time);
  if (what === "poses") return [...shown.placed(runs[run], data.bodies, place)];
  if (what === "balls") {
    const poses = shown.placed(runs[run], data.bodies, place);
    return data.limbs.map((limb) => limb.balls.map((ball) => shown.spot(poses, ball)));
  }
  if (what === "ground") return shown.groundAt(data, runs[run], place);
  if (what === "curves") return [...shown.curvesAt(data, runs[run], place)];
  if (what === "hull") return shown.hull(points);
  if (what === "q") return [...shown.between(runs[run].q, data.coordinates.length, shown.find(runs[run].times, time))];
  if (what === "times") return [...runs[run].times];
  if (what === "see") return points.map((p) => camera.see(p));
  if (what === "depths") return shown.items(data, runs[run], shown.find(runs[run].times, time), camera, shows).map(([z]) => z);
  const [calls, context] = recorder();
  if (what === "chart") {
    data.charts.forEach((_, k) => shown.paintChart(context, data, runs[run], k, time, width, height));
    return calls;
  }
  shown.paint(context, data, runs[run], time, camera, shows);
  return calls;
});
process.stdout.write(JSON.stringify(answers));

// ---- limbs: convex hulls of balls, lit in layers ---------------------------------------------------

const RING = Array.from({ length: 20 }, (_, k) => [Math.cos(k * Math.PI / 10), Math.sin(k * Math.PI / 10)]);

/* The convex hull of points [x, y] (Andrew's monotone chain). */
function hull(points) {
  const all = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]), found = [];
  const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  for (const part of [all, all.slice().reverse()]) {
    const chain = [];
    for (const p of part) {
      while (chain.length > 1 && turn(chain[chain.length - 2], chain[chain.length - 1], p) <= 0) chain.pop();
      chain.push(p);
    }
    found.push(...chain.slice(0, -1));
  }
  return found;
}

/* The outline of balls that are seen, their radii in pixels. */
const rim = (discs) => hull(discs.flatMap(({ x, y, r }) => RING.map(([c, s]) => [x + r * c, y + r * s])));

function trail(ctx, corners) {
  ctx.beginPath();
  corners.forEach(([x, y], k) => (k ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
}

function tinted(colour, tone) {
  if (tone <= 1) return shaded(colour, tone);
  const n = parseInt(colour.slice(1), 16), part = (k) => {
    const x = (n >> k) & 255;
    return Math.round(x + (255 - x) * (tone - 1));
  };
  return `rgb(${part(16)},${part(8)},${part(0)})`;
}

/* Layers from the rim to the middle: hulls of smaller balls, moved towards the light. */
function paintLimb(ctx, discs, colour, alpha) {
  ctx.globalAlpha = alpha;
  const layers = Math.max(5, Math.min(18, Math.round(Math.max(...discs.map((at) => at.r)) / 2.5)));
  for (let k = 0; k < layers; k++) {
    const share = k / (layers - 1), tone = 0.8 + 0.46 * Math.sin(0.5 * Math.PI * share);
    const inner = discs.map(({ x, y, r }) => {
      const away = 0.92 * share * r;
      return { x: x - 0.25 * away, y: y - 0.33 * away, r: r - away };
    });
    trail(ctx, rim(inner));
    ctx.fillStyle = tinted(colour, tone);
    ctx.fill();
    if (!k) {
      ctx.strokeStyle = tinted(colour, 0.58);
      ctx.lineWidth = 0.8;
      ctx.stroke();
    }
    if (alpha < 1) break;
  }
  ctx.globalAlpha = 1;
}

/* Balls of a limb as they are seen; null where one is behind the camera. */
function discsOf(limb, poses, camera, change = (p) => p, flat = 1) {
  const discs = limb.balls.map((ball) => {
    const at = camera.see(change(spot(poses, ball)));
    return { ...at, r: flat * ball[4] * at.scale };
  });
  return discs.some((at) => at.z <= camera.near) ? null : discs;
}

function limbItems(data, poses, camera, alpha, put, tint) {
  for (const limb of data.limbs) {
    const discs = discsOf(limb, poses, camera);
    if (!discs) continue;
    const depth = discs.reduce((sum, at) => sum + at.z, 0) / discs.length;
    put(depth + (alpha < 1 ? data.size : 0), (ctx) => paintLimb(ctx, discs, tint(limb.balls[0][0], limb.colour), alpha));
  }
}

function limbShadows(ctx, data, poses, camera) {
  const flat = Math.max(0.12, Math.abs(camera.back[2]));  // a ball's shadow is a disc that lies
  ctx.fillStyle = "rgba(29,39,51,.06)";
  for (const limb of data.limbs) {
    const discs = discsOf(limb, poses, camera, (p) => down(data, p), 0.75);
    if (!discs) continue;
    const lying = discs.flatMap(({ x, y, r }) => RING.map(([c, s]) => [x + r * c, y + flat * r * s]));
    trail(ctx, hull(lying));
    ctx.fill();
  }
}


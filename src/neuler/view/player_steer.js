/* A camera that follows the pointer on a canvas. In a page that scrolls, the wheel zooms with Ctrl held alone.
   A ``hand`` (live_drag.js) may take hold of what is drawn instead, with one pointer. */

function steer(canvas, camera, changed, scrolls = false, hand = null) {
  const held = new Map();  // pointers on the canvas: a mouse, or fingers
  const spread = () => { const [a, b] = [...held.values()]; return Math.hypot(a.x - b.x, a.y - b.y) || 1; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (held.size > 1) hand?.drop();
    else hand?.press(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) {
      if (!held.size) hand?.hover(event);
      return;
    }
    const dx = event.clientX - before.x, dy = event.clientY - before.y, apart = held.size > 1 ? spread() : 0;
    held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (hand?.holds) {
      hand.drag(event);
      return;
    }
    if (held.size > 1) {
      camera.zoom(apart / spread());
      camera.shift(dx / held.size, dy / held.size);
    } else if (event.shiftKey || event.buttons & 6) camera.shift(dx, dy);
    else camera.orbit(dx, dy);
    changed();
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, (event) => {
      held.delete(event.pointerId);
      hand?.drop();
      if (event.pointerType === "mouse") hand?.hover(event);
    });
  }
  canvas.addEventListener("pointerleave", () => { if (!held.size) hand?.hover(null); });
  canvas.addEventListener("touchstart", (event) => {  // after the press: the page stays where it is
    if (hand?.holds && event.cancelable) event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("wheel", (event) => {
    if (scrolls && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    camera.zoom(Math.exp(0.0012 * Math.max(-250, Math.min(250, event.deltaY))));
    changed();
  }, { passive: false });
  canvas.addEventListener("dblclick", () => { camera.reset(); changed(); });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
}

// The whole time at a glance, how much holds when, and a brush for the stretch that is shown.

import { styleColour } from "./colours.js";

/** Draws the density of all intervals and lets the shown stretch be dragged. */
export function makeMinimap(canvas, model, view, timeline) {
  const context = canvas.getContext("2d");
  const BINS = 600;
  let density = null;
  /** The density as a picture, for as long as size and colours stay: a pan moves the brush only. */
  let picture = null;

  const span = () => view.bounds.high - view.bounds.low;

  /** What begins or happens in each part of the time, by its logarithm. */
  function count() {
    density = new Float64Array(BINS);
    const scale = BINS / span();
    const enter = (time) => density[Math.min(Math.max(Math.floor((time - view.bounds.low) * scale), 0), BINS - 1)]++;
    model.fluents.starts.forEach(enter);
    model.bands.starts.forEach(enter);
    if (!model.fluents.starts.length && !model.bands.starts.length) model.events.times.forEach(enter);
    let most = 1;
    for (let i = 0; i < BINS; i++) most = Math.max(most, (density[i] = Math.log1p(density[i])));
    for (let i = 0; i < BINS; i++) density[i] /= most;
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width) return;
    if (!density) count();
    if (picture?.width !== Math.round(width * ratio) || picture.height !== Math.round(height * ratio)) paint(width, height, ratio);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawBrush(width, height);
  }

  function paint(width, height, ratio) {
    picture = document.createElement("canvas");
    picture.width = canvas.width = Math.round(width * ratio);
    picture.height = canvas.height = Math.round(height * ratio);
    colours = { accent: styleColour("--accent"), shade: styleColour("--shade") };
    const below = picture.getContext("2d");
    below.setTransform(ratio, 0, 0, ratio, 0, 0);
    below.fillStyle = colours.accent;
    below.globalAlpha = 0.55;
    for (let i = 0; i < BINS; i++) {
      const tall = density[i] * (height - 6);
      if (tall > 0) below.fillRect((i / BINS) * width, height - tall, width / BINS + 0.5, tall);
    }
  }

  let colours = null;
  function drawBrush(width, height) {
    const left = ((view.low - view.bounds.low) / span()) * width;
    const right = Math.max(((view.high - view.bounds.low) / span()) * width, left + 3);
    context.fillStyle = colours.shade;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, right - left - 1.5, height - 1.5);
  }

  let grip = null;
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return view.bounds.low + ((event.clientX - box.left) / box.width) * span();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const time = timeAt(event);
    const inside = time >= view.low && time <= view.high && view.high - view.low < span() * 0.98;
    grip = inside ? { offset: time - view.low } : { from: time };
    if (!inside && view.high - view.low < span() * 0.98) {
      grip = { offset: (view.high - view.low) / 2 };
      view.set(time - grip.offset, time + grip.offset);
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const time = timeAt(event);
    const width = view.high - view.low;
    if (grip.from !== undefined) view.set(Math.min(grip.from, time), Math.max(grip.from, time, grip.from + span() / 2000));
    else view.set(time - grip.offset, time - grip.offset + width);
  });
  canvas.addEventListener("pointerup", () => (grip = null));

  let asked = false;
  const ask = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => ((asked = false), draw()));
  };
  view.onChange(ask);
  return {
    draw: ask,
    restyle: () => ((picture = null), ask()),
    recount: () => ((density = picture = null), ask()),
    timeline,
  };
}

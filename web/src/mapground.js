// What lies under the tracks of the map: a graticule, areas, a scale, and tiles if they are wanted.

import { ticks } from "d3-array";
import { paint, styleColour } from "./colours.js";
import { project, unproject } from "./tracks.js";

/** Meridians and parallels at round degrees. */
export function drawGraticule(context, { width, height, x, y, place }) {
  const [west, north] = unproject(place.x - width / 2 / place.scale, place.y - height / 2 / place.scale);
  const [east, south] = unproject(place.x + width / 2 / place.scale, place.y + height / 2 / place.scale);
  context.fillStyle = styleColour("--soft");
  context.strokeStyle = styleColour("--grid");
  context.lineWidth = 1;
  context.font = "10px system-ui, sans-serif";
  for (const longitude of ticks(west, east, Math.max(width / 160, 2))) {
    const left = Math.round(x(project(longitude, 0)[0])) + 0.5;
    line(context, left, 0, left, height);
    context.fillText(`${degrees(longitude)} ${longitude < 0 ? "W" : "E"}`, left + 3, height - 6);
  }
  for (const latitude of ticks(Math.max(south, -85), Math.min(north, 85), Math.max(height / 120, 2))) {
    const top = Math.round(y(project(0, latitude)[1])) + 0.5;
    line(context, 0, top, width, top);
    context.fillText(`${degrees(latitude)} ${latitude < 0 ? "S" : "N"}`, 4, top - 3);
  }
}

const degrees = (number) => `${+Math.abs(number).toFixed(5)}°`;

function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/** Areas with their names; those of one type have one colour. */
export function drawAreas(context, { x, y }, areas) {
  const kinds = [...new Set(areas.map((each) => each.kind))];
  context.font = "11px system-ui, sans-serif";
  for (const { name, kind, rings } of areas) {
    const colour = paint(kinds.indexOf(kind) + 5);
    context.beginPath();
    let [left, right, top] = [Infinity, -Infinity, Infinity];
    for (const ring of rings) {
      ring.forEach(([px, py], i) => {
        const [sx, sy] = [x(px), y(py)];
        if (i) context.lineTo(sx, sy);
        else context.moveTo(sx, sy);
        [left, right, top] = [Math.min(left, sx), Math.max(right, sx), Math.min(top, sy)];
      });
      context.closePath();
    }
    context.fillStyle = context.strokeStyle = colour;
    context.globalAlpha = 0.14;
    context.fill("evenodd");
    context.globalAlpha = 1;
    context.lineWidth = 1;
    context.stroke();
    if (right - left > 30) context.fillText(name, left + 4, top + 13);
  }
}

const EQUATOR = 40075016.7;

/** A bar that says how long a round number of metres is in the middle of the map. */
export function drawScale(context, { width, height, place }) {
  const latitude = unproject(place.x, place.y)[1];
  const metres = (EQUATOR * Math.cos((latitude * Math.PI) / 180)) / place.scale;
  const room = metres * 140;
  const power = 10 ** Math.floor(Math.log10(room));
  const length = [5, 2, 1].map((each) => each * power).find((each) => each <= room);
  const pixels = length / metres;
  const text = length >= 1000 ? `${length / 1000} km` : `${+length.toPrecision(2)} m`;
  context.strokeStyle = context.fillStyle = styleColour("--ink");
  context.lineWidth = 2;
  const right = width - 16;
  line(context, right - pixels, height - 28, right, height - 28);
  context.font = "11px system-ui, sans-serif";
  context.fillText(text, right - pixels, height - 34);
}

const SIDE = 256;

/** Pictures of the ground from a server; only if the reader has asked for them. */
export function drawTiles(context, { width, height, x, y, place }, tiles, ask) {
  const zoom = Math.max(Math.min(Math.round(Math.log2(place.scale / SIDE)), 19), 0);
  const count = 2 ** zoom;
  const size = place.scale / count;
  const first = [place.x - width / 2 / place.scale, place.y - height / 2 / place.scale].map((each) => Math.floor(each * count));
  for (let column = first[0]; x(column / count) < width; column++) {
    for (let row = Math.max(first[1], 0); row < count && y(row / count) < height; row++) {
      const address = tiles.url.replace("{z}", zoom).replace("{x}", ((column % count) + count) % count).replace("{y}", row);
      const image = tileImage(tiles, address, ask);
      if (image.complete && image.naturalWidth) context.drawImage(image, x(column / count), y(row / count), size + 0.5, size + 0.5);
    }
  }
  context.font = "10px system-ui, sans-serif";
  context.fillStyle = styleColour("--ink");
  if (tiles.url.includes("openstreetmap")) context.fillText("© OpenStreetMap contributors", 6, height - 6);
}

function tileImage(tiles, address, ask) {
  if (!tiles.images.has(address)) {
    const image = new Image();
    image.referrerPolicy = "no-referrer";
    image.addEventListener("load", ask);
    image.src = address;
    tiles.images.set(address, image);
  }
  return tiles.images.get(address);
}

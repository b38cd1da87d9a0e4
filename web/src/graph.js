// The page of a dependency graph: what feeds what, and the rules, keys and costs behind it.

import "./graph.css";
import { $, make, table } from "./dom.js";
import { makeTheme } from "./theme.js";

const facts = JSON.parse($("cernis-graph").textContent);
let level = 0;
let chosen = null;

function open() {
  document.title = facts.title;
  $("title").textContent = facts.title;
  makeTheme($("theme"), () => undefined)();
  $("helpers").hidden = facts.pictures.length < 2;
  $("helperbox").addEventListener("change", (event) => show(event.target.checked ? 1 : 0));
  $("search").addEventListener("input", () => mark());
  $("search").addEventListener("keydown", (event) => event.key === "Enter" && chooseFirst());
  document.addEventListener("keydown", onKey);
  listenToPicture($("picture"));
  show(0);
  document.body.dataset.ready = "yes";
}

/** Shows a picture: the one without helpers, or that of all. */
function show(number) {
  const label = chosen === null ? null : facts.vertices[level][chosen].label;
  level = number;
  const parsed = new DOMParser().parseFromString(facts.pictures[level], "image/svg+xml");
  const svg = document.importNode(parsed.documentElement, true);
  $("picture").replaceChildren(svg);
  for (const group of svg.querySelectorAll("[data-vertex]")) {
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    const place = Number(group.dataset.vertex);
    group.setAttribute("aria-label", facts.vertices[level][place].label);
    group.addEventListener("click", () => choose(place));
    group.addEventListener("keydown", (event) => event.key === "Enter" && choose(place));
    group.addEventListener("pointerenter", () => mark(place));
    group.addEventListener("pointerleave", () => mark());
  }
  if (facts.hasRun) writeCounts(svg);
  fit();
  chosen = facts.vertices[level].findIndex((vertex) => vertex.label === label);
  choose(chosen < 0 ? null : chosen);
}

/** How much there was of each vertex in the run, small in its corner. */
function writeCounts(svg) {
  for (const group of svg.querySelectorAll("[data-vertex]")) {
    const { count } = facts.vertices[level][group.dataset.vertex];
    if (count === null) continue;
    const box = group.querySelector("rect");
    const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    text.setAttribute("x", Number(box.getAttribute("x")) + Number(box.getAttribute("width")) - 2);
    text.setAttribute("y", Number(box.getAttribute("y")) - 3);
    text.setAttribute("text-anchor", "end");
    text.setAttribute("font-size", "10");
    text.setAttribute("fill", count ? "#4a5568" : "#c05621");
    text.textContent = count.toLocaleString("en");
    group.append(text);
  }
}

const edges = () => facts.edges[level];

/** All that a vertex depends on, or that depends on it, directly or through others. */
function reach(start, from, to) {
  const found = new Set([start]);
  const waiting = [start];
  while (waiting.length) {
    const place = waiting.pop();
    for (const edge of edges()) {
      if (edge[from] === place && !found.has(edge[to])) {
        found.add(edge[to]);
        waiting.push(edge[to]);
      }
    }
  }
  return found;
}

/** Lets what has nothing to do with a vertex, or with the search, stand back. */
function mark(place = chosen) {
  const word = $("search").value.trim().toLowerCase();
  const near = place === null ? null : new Set([...reach(place, 0, 1), ...reach(place, 1, 0)]);
  for (const group of document.querySelectorAll("#picture [data-vertex]")) {
    const number = Number(group.dataset.vertex);
    const matches = !word || facts.vertices[level][number].label.toLowerCase().includes(word);
    group.classList.toggle("back", !(word ? matches : near === null || near.has(number)));
    group.classList.toggle("chosen", number === chosen);
  }
  for (const path of document.querySelectorAll("#picture [data-edge]")) {
    const [source, target] = edges()[path.dataset.edge];
    path.classList.toggle("back", near !== null && !(near.has(source) && near.has(target)));
  }
}

function chooseFirst() {
  const word = $("search").value.trim().toLowerCase();
  const place = facts.vertices[level].findIndex((vertex) => vertex.label.toLowerCase().includes(word));
  $("search").value = "";
  choose(place < 0 ? null : place);
}

/** Shows all about a vertex beside the picture. */
function choose(place) {
  chosen = place;
  mark();
  const panel = $("about");
  panel.replaceChildren(...(place === null ? overview() : aboutVertex(place)));
}

function overview() {
  const vertices = facts.vertices[level];
  const rows = [...new Set(vertices.map((vertex) => vertex.kind))].map((kind) => [KINDS[kind], vertices.filter((each) => each.kind === kind).length]);
  const parts = [make("h2", {}, "The program"), table(["kind", "number"], rows),
    make("p", { class: "note" }, "Click on a box to see its rules, what it needs and what needs it. A solid line is a condition, a dashed one an effect that comes later.")];
  if (facts.hasRun) parts.push(make("h3", {}, "The dearest rules"), dearest(vertices));
  return parts;
}

function dearest(vertices) {
  const rules = new Map();
  vertices.forEach((vertex, place) => vertex.rules.forEach((rule) => rules.set(rule.place, { rule, place })));
  const sorted = [...rules.values()].filter(({ rule }) => rule.seconds).sort((a, b) => b.rule.seconds - a.rule.seconds);
  return table(["rule of", "ms"], sorted.slice(0, 10).map(({ rule, place }) => [link(place), Number((rule.seconds * 1000).toFixed(1))]));
}

function link(place) {
  return make("button", { type: "button", class: "link", onclick: () => choose(place) }, facts.vertices[level][place].label);
}

function aboutVertex(place) {
  const vertex = facts.vertices[level][place];
  const sources = edges().filter((edge) => edge[1] === place).map((edge) => edge[0]);
  const targets = edges().filter((edge) => edge[0] === place).map((edge) => edge[1]);
  const list = (title, places) => places.length
    ? [make("h3", {}, title), make("ul", {}, ...[...new Set(places)].map((each) => make("li", {}, link(each))))] : [];
  return [
    make("button", { type: "button", class: "link close", onclick: () => choose(null) }, "close"),
    make("h2", {}, vertex.label),
    make("dl", {}, ...describe(vertex).flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    ...list("It needs", sources), ...list("It feeds", targets),
    ...(vertex.rules.length ? [make("h3", {}, vertex.rules.length > 1 ? `Its ${vertex.rules.length} rules` : "Its rule")] : []),
    ...vertex.rules.map((rule) => make("figure", {},
      make("figcaption", {}, rule.place, rule.seconds ? ` · ${(rule.seconds * 1000).toFixed(1)} ms` : ""), make("pre", {}, rule.text))),
  ];
}

const KINDS = { input: "input", event: "derived event", simple: "simple fluent", static: "statically determined fluent" };

function describe(vertex) {
  const rows = [["kind", KINDS[vertex.kind]]];
  if (vertex.arguments.length) rows.push(["arguments", vertex.arguments.join(", ")]);
  if (vertex.level) rows.push(["level", String(vertex.level)]);
  if (vertex.stage) rows.push(["evaluated", `in stage ${vertex.stage}, ${vertex.key}${vertex.cyclic ? ", as part of a cycle" : ""}`]);
  if (vertex.count !== null) rows.push([{ event: "happened", input: "records" }[vertex.kind] ?? "intervals", vertex.count.toLocaleString("en")]);
  return rows;
}

// -- moving the picture ------------------------------------------------------------------------

const frame = { x: 0, y: 0, scale: 1 };

function fit() {
  const svg = $("picture").firstElementChild;
  const box = $("picture").getBoundingClientRect();
  frame.scale = Math.min(1.4, box.width / svg.width.baseVal.value, box.height / svg.height.baseVal.value);
  frame.scale = Math.max(frame.scale, 0.35);
  [frame.x, frame.y] = [0, 0];
  move();
}

function move() {
  $("picture").firstElementChild.style.transform = `translate(${frame.x}px, ${frame.y}px) scale(${frame.scale})`;
}

function zoom(factor, x = 0, y = 0) {
  const scale = Math.min(Math.max(frame.scale * factor, 0.1), 6);
  frame.x = x - ((x - frame.x) / frame.scale) * scale;
  frame.y = y - ((y - frame.y) / frame.scale) * scale;
  frame.scale = scale;
  move();
}

function listenToPicture(picture) {
  let drag = null;
  picture.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("[data-vertex]")) drag = { x: event.clientX - frame.x, y: event.clientY - frame.y };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    [frame.x, frame.y] = [event.clientX - drag.x, event.clientY - drag.y];
    move();
  });
  window.addEventListener("pointerup", () => (drag = null));
  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = picture.getBoundingClientRect();
    zoom(Math.exp(-Math.max(Math.min(event.deltaY, 200), -200) * 0.002), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
}

function onKey(event) {
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey) return;
  const keys = {
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), Home: fit, Escape: () => choose(null),
    "/": () => $("search").focus(), t: () => $("theme").click(),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

open();

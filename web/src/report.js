// The page of a report: reads its data, and puts the parts together.

import "uplot/dist/uPlot.min.css";
import "./report.css";
import { makeCurves } from "./curves.js";
import { makeDescriber } from "./describe.js";
import { $, make } from "./dom.js";
import { makeFilters } from "./filters.js";
import { listen } from "./gestures.js";
import { fetchData, follow } from "./live.js";
import { makeMap } from "./map.js";
import { makeMinimap } from "./minimap.js";
import { makeModel } from "./model.js";
import { readEmbedded } from "./payload.js";
import { fillSummary } from "./summary.js";
import { makeTheme } from "./theme.js";
import { makeTimeline } from "./timeline.js";
import { makeClock } from "./times.js";
import { placeColumns } from "./tracks.js";
import { makeView } from "./view.js";

const began = performance.now();

async function open() {
  const isLive = !$("cernis-data").textContent.trim();
  const model = makeModel(isLive ? await fetchData() : await readEmbedded("cernis-data"));
  const { meta } = model;
  document.title = meta.title;
  $("title").textContent = meta.title;
  const clock = makeClock(meta);
  const view = makeView(0, meta.end);
  const filters = { search: "", group: "entity", events: true, hiddenFluents: new Set(), hiddenEvents: quietEvents(meta) };
  const elements = { scroller: $("scroller"), canvas: $("lanes"), spacer: $("spacer"), selection: $("selection"), empty: $("empty") };
  const timeline = makeTimeline(elements, model, view, clock, filters);
  const minimap = makeMinimap($("minimap"), model, view, timeline);
  const curves = makeCurves($("curves"), model, view, timeline, clock);
  const describe = makeDescriber(model, clock, timeline);
  const renewFilters = () => {
    $("filters").replaceChildren();
    makeFilters($("filters"), model, timeline, filters, timeline.refilter);
  };
  renewFilters();
  const redraw = () => {
    document.querySelectorAll("[data-swatch]").forEach((each) => each.repaint());
    timeline.restyle();
    minimap.restyle();
    curves.draw();
    map?.restyle();
  };
  const startTheme = makeTheme($("theme"), redraw);
  listen(elements, model, timeline, view, choices(timeline, describe, curves));
  searchBox(filters, timeline);
  const hasMap = () => placeColumns(model).some(Boolean) || (model.meta.areas ?? []).length > 0;
  $("maptab").hidden = !hasMap();
  let map = null;
  tabs({
    summary: () => fillSummary($("summary"), model, clock, timeline),
    map: () => {
      map = window.cernis.map = makeMap($("map"), model, view, timeline, clock, (found, event) => showPlace(model, clock, found, event));
    },
  }, () => map?.draw());
  new ResizeObserver(() => {
    timeline.resize();
    minimap.draw();
    curves.draw();
  }).observe($("scroller"));
  startTheme();
  timeline.refilter();
  timeline.resize();
  if (isLive) {
    let shown;
    follow(model, view, () => (shown = curves.shown()), () => {
      // Times may count from another base now.
      Object.assign(clock, makeClock(model.meta));
      timeline.renew();
      minimap.recount();
      curves.renew(shown);
      map?.renew();
      $("maptab").hidden = !hasMap();
      $("details").hidden = true;
      renewFilters();
      if ($("summary").childElementCount) {
        $("summary").replaceChildren();
        fillSummary($("summary"), model, clock, timeline);
      }
    });
  }
  window.cernis = { model, view, timeline, clock };
  requestAnimationFrame(() => requestAnimationFrame(() => {
    window.cernis.openedAfter = performance.now();
    window.cernis.workedFor = performance.now() - began;
    document.body.dataset.ready = "yes";
  }));
}

/** Events that are shown on the map, and on the timeline only if the reader wants it. */
function quietEvents({ events }) {
  return new Set([...events.keys()].filter((kind) => events[kind].quiet));
}

/** What hovering and choosing do. */
function choices(timeline, describe, curves) {
  const card = $("card");
  const details = $("details");
  return {
    hover(mark, x, y, labelRow = -1) {
      timeline.hovered = mark;
      timeline.ask();
      card.hidden = !mark && labelRow < 0;
      if (card.hidden) return;
      card.replaceChildren(...(mark ? describe(mark, false) : [make("p", {}, timeline.labelOf(labelRow))]));
      const box = card.getBoundingClientRect();
      card.style.left = `${Math.max(Math.min(x + 14, innerWidth - box.width - 8), 8)}px`;
      card.style.top = `${Math.max(y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18, 8)}px`;
    },
    choose(mark, row) {
      timeline.selected = mark;
      details.hidden = !mark;
      if (mark) $("chosen").replaceChildren(...describe(mark, true));
      if (row >= 0) curves.show(timeline.entityOf(row));
      timeline.ask();
    },
  };
}

/** The card of a place on the map: whose it is, when, and where. */
function showPlace(model, clock, found, event) {
  const card = $("card");
  card.hidden = !found;
  if (!found) return;
  const [longitude, latitude] = found.at.map((each) => each.toFixed(5));
  card.replaceChildren(make("h3", {}, model.entities[found.entity]),
    make("p", {}, clock.exact(found.time)), make("p", {}, `${latitude}, ${longitude}`));
  card.style.left = `${Math.min(event.clientX + 14, innerWidth - 240)}px`;
  card.style.top = `${Math.min(event.clientY + 14, innerHeight - 90)}px`;
}

function searchBox(filters, timeline) {
  const box = $("search");
  box.addEventListener("input", () => {
    filters.search = box.value;
    timeline.refilter();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      box.value = filters.search = "";
      timeline.refilter();
    }
    if (event.key === "Escape" || event.key === "Enter") $("scroller").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey) return;
    if (event.key === "/") {
      event.preventDefault();
      box.focus();
    } else if (event.key === "t") $("theme").click();
    else if (event.key === "?") $("help").showModal();
  });
  $("helpbutton").addEventListener("click", () => $("help").showModal());
}

/** Pages of one report; a page is filled when it is first seen. */
function tabs(fillers, seen) {
  const buttons = [...document.querySelectorAll("[role=tab]")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      $("card").hidden = true;
      const name = button.getAttribute("aria-controls");
      for (const each of buttons) {
        const isThis = each === button;
        each.setAttribute("aria-selected", String(isThis));
        $(each.getAttribute("aria-controls")).hidden = !isThis;
      }
      fillers[name]?.();
      delete fillers[name];
      seen();
    });
  }
}

open().catch((error) => {
  document.body.dataset.ready = "failed";
  $("title").textContent = `This report cannot be shown: ${error.message}`;
  throw error;
});

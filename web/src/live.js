// A page that a server keeps up to date: it asks for the data whenever there is something new.

import { $, make } from "./dom.js";
import { makeModel } from "./model.js";
import { decodePayload, inflate } from "./payload.js";

const address = (name) => name + location.search;

/** The data as it is now. */
export async function fetchData() {
  const answer = await fetch(address("data"));
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return decodePayload(await inflate(new Uint8Array(await answer.arrayBuffer())));
}

const WORDS = {
  events_per_second: "records/s", events: "records", lag: "lag", queries: "queries", inserted: "reported",
  revised: "taken back", too_late: "too late", set_aside: "set aside", ignored: "ignored",
  open_intervals: "open", batch_seconds: "s a batch",
};

/**
 * Shows the state of the stream and its changes, and renews the page when there are new ones;
 * `leave` is called while the model still has the old data.
 */
export function follow(model, view, leave, renew) {
  const bar = $("live");
  const list = $("changes");
  bar.hidden = list.hidden = false;
  let version = model.meta.version;
  let busy = false;
  const source = new EventSource(address("changes"));
  const state = make("b", { class: "state" }, "live");
  source.onmessage = async (event) => {
    const message = JSON.parse(event.data);
    state.textContent = message.over ? "ended" : "live";
    state.classList.toggle("over", message.over);
    showStatus(bar, state, message.status);
    if (message.over) source.close();
    if (message.version === version || busy) return;
    busy = true;
    version = message.version;
    showChanges(list, message.changes);
    try {
      const data = await fetchData();
      leave();
      replace(model, view, data);
      renew();
    } finally {
      busy = false;
    }
  };
  source.onerror = () => {
    state.textContent = "not reached";
    state.classList.add("over");
  };
}

function showStatus(bar, state, status) {
  const entries = Object.entries(WORDS).filter(([name]) => status[name] !== undefined && status[name] !== null);
  bar.replaceChildren(state, ...entries.map(([name, word]) => {
    const number = status[name];
    const text = Number.isInteger(number) ? number.toLocaleString("en") : number.toFixed(number < 10 ? 2 : 0);
    const isBad = ["too_late", "set_aside"].includes(name) && number > 0;
    return make("span", { class: isBad ? "bad" : "" }, make("b", {}, text), ` ${word}`);
  }));
}

function showChanges(list, changes) {
  const lines = changes.slice().reverse();
  list.replaceChildren(make("h2", {}, "Changes"), ...lines.map((line) =>
    make("p", { class: line.startsWith("-") ? "gone" : "new" }, line)));
}

/** Puts new data in the place of the old; a view of the end goes along with it. */
function replace(model, view, data) {
  const oldBase = BigInt(model.meta.base);
  for (const key of Object.keys(model)) delete model[key];
  Object.assign(model, makeModel(data));
  const moved = Number(oldBase - BigInt(model.meta.base)) / 2 ** model.meta.shift;
  if (moved) view.shift(moved);
  view.extend(model.meta.end);
}

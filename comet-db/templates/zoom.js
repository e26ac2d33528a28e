// Zoom of a figure that a server draws: the part that is shown becomes fields of the address, and the page at
// that address is loaded in place of this one.
const WAIT_MS = 300;
const DAY_MS = 24 * 3600 * 1000;

const asDay = (day, number) => new Date(Date.parse(day) + number * DAY_MS).toISOString().slice(0, 10);

/** Values of the two fields for the ends of an axis; those of days are the first day and the last one. */
const fieldsOf = ([low, high], day) =>
  day
    ? [asDay(day, Math.floor(low)), asDay(day, Math.floor(high))]
    : [Math.max(0, Math.ceil(low)), Math.floor(high)];

let latest = 0;
/** Loads the page at `address`, unless a later one is asked for before it is there. */
const load = async (address) => {
  const number = ++latest;
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const result = page.getElementById("result");
  if (!answer.ok || !result || number !== latest) return;
  history.replaceState(null, "", address);
  const hasFocus = document.activeElement?.matches("#result .view");
  document.getElementById("result").replaceWith(document.adoptNode(result));
  start();
  if (hasFocus) result.querySelector(".view")?.focus();
};

let timer;
addEventListener("zoomed", ({ target, detail }) => {
  const { from, to, day } = target.closest("figure").dataset;
  const form = document.querySelector("main form");
  if (!from || !form) return;
  const values = detail ? fieldsOf(detail, day) : ["", ""];
  if (detail && values[0] > values[1]) return;
  const address = new URL(location);
  [from, to].forEach((name, index) => {
    address.searchParams.set(name, values[index]);
    if (values[index] === "") address.searchParams.delete(name);
    form.elements[name].value = values[index];
  });
  clearTimeout(timer);
  if (address.href !== location.href) timer = setTimeout(() => load(address.href), WAIT_MS);
});

// Tables that can be sorted, folded parts that links lead into, and the choice between light and dark.
"use strict";
(() => {
  /** What a cell is sorted by: `data-value`, else its text; as a number if it is one. */
  const keyOf = (cell) => {
    const text = cell?.dataset.value ?? cell?.textContent.trim() ?? "";
    if (text === "" || text === "—") return null;
    return Number.isNaN(Number(text)) ? text : Number(text);
  };
  /** Numbers, then texts. */
  const order = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  /** Sorts the rows of `table` by a column; what is missing stays at the end. */
  const sort = (table, head, index) => {
    const isUp = head.getAttribute("aria-sort") !== "ascending";
    head
      .closest("tr")
      .querySelectorAll("th")
      .forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const compare = (a, b) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return isUp ? order(a, b) : order(b, a);
    };
    for (const body of table.tBodies) {
      const rows = [...body.rows].map((row) => [keyOf(row.cells[index]), row]);
      body.append(...rows.sort((a, b) => compare(a[0], b[0])).map(([, row]) => row));
    }
  };
  const makeSortable = (table) => {
    for (const head of table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? []) {
      let button = head.querySelector("button");
      if (!button) {
        button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
      }
      button.addEventListener("click", () => sort(table, head, head.cellIndex));
    }
  };

  /** The choice between light and dark, kept where the browser lets us. */
  const THEME = "comet-theme";
  const stored = (action) => {
    try {
      return action(localStorage);
    } catch {
      return null;
    }
  };
  const setTheme = (theme) => {
    document.documentElement.dataset.theme = theme;
  };
  const chosen = stored((store) => store.getItem(THEME));
  if (chosen === "light" || chosen === "dark") setTheme(chosen);
  document.getElementById("theme")?.addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const theme = (document.documentElement.dataset.theme ?? system) === "dark" ? "light" : "dark";
    setTheme(theme);
    stored((store) => store.setItem(THEME, theme));
  });

  /** Opens what is folded around the target of a link; not all browsers do. */
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target?.closest("details:not([open])");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  const index = document.querySelector("nav details");
  index?.addEventListener("click", (event) => {
    if (event.target.closest("a")) index.open = false;
  });

  document.querySelectorAll("table.sortable").forEach(makeSortable);
})();

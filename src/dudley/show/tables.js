"use strict";
// Tables below an element sort by their heads and can be copied.
function dudleyTables(root) {
  for (const table of root.querySelectorAll(".wide table")) {
    const copy = document.createElement("button");
    copy.className = "copy";
    copy.type = "button";
    copy.textContent = "copy";
    copy.addEventListener("click", () => {
      const text = [...table.rows]
        .map((row) => [...row.cells].map((c) => c.textContent).join("\t"))
        .join("\n");
      navigator.clipboard.writeText(text).then(
        () => {
          copy.textContent = "copied";
        },
        () => {
          copy.textContent = "select and copy by hand";
        },
      );
    });
    table.parentElement.before(copy);
    const heads = [...table.querySelectorAll("th")],
      body = table.tBodies[0];
    heads.forEach((head, column) =>
      head.firstChild.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[column];
          if (!("key" in cell.dataset)) return cell.textContent;
          return cell.dataset.key === "" ? Infinity : Number(cell.dataset.key);
        };
        const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
        [...body.rows]
          .sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)))
          .forEach((row) => body.append(row));
      }),
    );
  }
}

"use strict";
(() => {
  const { by, make, lead, ask, problem, fill, views } = explorer;
  const place = by("drop");

  async function look(files) {
    if (!files.length) return;
    const query = new URLSearchParams();
    for (const file of files) query.append("file", `${file.name}:${file.size}`);
    for (const name of ["layout", "heads"]) if (by(name).value) query.set(name, by(name).value);
    by("looked").replaceChildren();
    by("looking").textContent = `Looking at ${[...files].map((f) => f.name).join(", ")}…`;
    problem(null);
    try {
      const answer = await ask("/api/files?" + query, {
        method: "POST",
        body: new Blob([...files]),
        headers: { "content-type": "application/octet-stream" },
      });
      const words = {
        true: "holds",
        false: "does not hold",
        null: answer.kind === "certificate" ? "read, not verified" : "measured",
      };
      by("looking").textContent = `${answer.file}: ${words[String(answer.holds)]}`;
      const body = make("div");
      by("looked").replaceChildren(
        make(
          "h2",
          { class: answer.holds === null ? null : answer.holds ? "verdict ok" : "verdict false" },
          answer.title,
        ),
        lead(answer.lead),
        body,
      );
      fill(body, answer);
    } catch (error) {
      by("looking").textContent = "Refused.";
      problem(error);
    }
  }

  by("chosen").addEventListener("change", () => look(by("chosen").files));
  for (const name of ["dragenter", "dragover"])
    place.addEventListener(name, (event) => {
      event.preventDefault();
      place.classList.add("over");
    });
  for (const name of ["dragleave", "drop"])
    place.addEventListener(name, () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    look(event.dataTransfer.files);
  });
  views.files = { open: () => problem(null) };
})();

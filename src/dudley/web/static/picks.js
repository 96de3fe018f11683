"use strict";
// Which curves are shown: at first those that the library picks, then as the visitor says.
explorer.picks = (() => {
  const { data, by, make, button, faint, say, number } = explorer;
  let chosen = null, // by the visitor; null as long as nothing was said
    first = [], // picked by the library, kept while sliders move
    subject = "", // of what they were picked
    entries = [];

  // The curves there are: those chosen, as far as they apply here.
  function shown() {
    const names = new Set(entries.map((e) => e.name));
    return (chosen ?? first).filter((name) => names.has(name));
  }

  // New numbers. Another quantity, source or form begins anew.
  function update(answer, about) {
    entries = answer.entries;
    if (about !== subject) first = answer.picked;
    subject = about;
    const names = new Set(entries.map((e) => e.name));
    first = [...first.filter((name) => names.has(name)), ...answer.picked];
    first = [...new Set(first)].slice(0, data.shown);
  }

  function add(name) {
    const names = shown();
    chosen = [...names.slice(0, data.shown - 1), name];
    say(
      names.length < data.shown
        ? `${name} is shown`
        : `${name} is shown in place of ${names[names.length - 1]}`,
    );
  }
  const remove = (name) => {
    chosen = shown().filter((other) => other !== name);
    say(`${name} is not shown`);
  };

  // The search box for the others.
  function search(changed) {
    const words = by("search").value.toLowerCase().split(/\s+/).filter(Boolean),
      there = new Set(shown()),
      others = entries.filter((e) => !there.has(e.name)),
      matching = others.filter((e) =>
        words.every((w) => `${e.name} ${e.of}`.toLowerCase().includes(w)),
      );
    by("others").hidden = !entries.length;
    by("found").replaceChildren(
      ...(words.length ? matching.slice(0, 8) : []).map((e) => {
        const value = e.refused ? "refused here" : number(e.value, e.log_value);
        return make(
          "li",
          {},
          button(`+ ${e.name}`, () => {
            add(e.name);
            changed();
          }),
          make("span", { class: "faint" }, [e.of, value].filter(Boolean).join(" · ")),
        );
      }),
      ...(words.length && !matching.length ? [make("li", {}, faint("nothing of that name"))] : []),
    );
    const more = `${others.length} more`;
    by("searched").textContent = words.length
      ? `${matching.length} of ${others.length} fit`
      : `${there.size} curves shown, at most ${data.shown}; ${more}`;
    by("first").hidden = chosen === null;
  }

  function build(changed) {
    by("search").addEventListener("input", () => search(changed));
    by("first").addEventListener("click", () => {
      chosen = null;
      changed();
    });
  }

  return {
    shown,
    update,
    remove,
    search,
    build,
    forget: () => (chosen = null),
    read: (text) => (chosen = text === null ? null : text.split(",").filter(Boolean)),
    write: () => (chosen === null ? null : chosen.join(",")),
  };
})();

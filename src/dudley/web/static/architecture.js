"use strict";
(() => {
  const { by, ask, lastWins, complete, problem, hashOf, keep, builder, costs, views } = explorer;
  const state = { blocks: null, net: null, size: { n: 1e5, delta: 0.05 } };

  // The network in the address: JSON, base64 with letters that an address may hold.
  const coded = (x) =>
    btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(x))))
      .replace(/\+/g, "-")
      .replace(/\//g, "_")
      .replace(/=+$/, "");
  const decoded = (text) =>
    JSON.parse(
      new TextDecoder().decode(
        Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0)),
      ),
    );
  const draw = () => builder.draw(state, changed, update);
  const changed = () => {
    draw();
    update();
  };

  function update() {
    keep(hashOf("architecture", new URLSearchParams({ ...state.size, net: coded(state.net) })));
    explain();
  }
  const explain = lastWins(async (moved) => {
    by("explained").classList.add("busy");
    try {
      const answer = await ask("/api/architecture", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ network: state.net, ...state.size }),
        signal: moved,
      });
      problem(null);
      costs(answer, state);
      complete("architecture");
    } catch (error) {
      if (error.name !== "AbortError") problem(error);
    }
    by("explained").classList.remove("busy");
  });

  views.architecture = {
    async open({ query }) {
      try {
        state.blocks ||= await ask("/api/blocks");
        if (query.has("net")) state.net = decoded(query.get("net"));
        else state.net ||= structuredClone(state.blocks.examples["single-head"]);
        for (const name of ["n", "delta"])
          if (query.has(name)) state.size[name] = Number(query.get(name));
        changed();
      } catch (error) {
        problem(error);
      }
    },
  };
  by("builder").addEventListener("submit", (event) => event.preventDefault());
})();

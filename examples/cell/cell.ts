// Two actors in one cell: each writes all layers it may, then says what it sees.
// Needs nothing but Node 24, which runs it as it is, and a running service; see README.md beside it.

const { URL: url, ALICE, BOB, ADMIN } = process.env as Record<string, string>;
const tokens: Record<string, string> = { alice: ALICE, bob: BOB };

type Query = Record<string, string>;

/** Send one request; the value that came back, an error's too. */
async function ask(method: string, path: string, token: string, body?: object, query: Query = {}) {
  const answer = await fetch(`${url}${path}?${new URLSearchParams(query)}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  return answer.json();
}

const rule = { layer: "consensus", content: "We answer within a day.", kind: "convention" };
await ask("POST", "/memory", ADMIN, rule);

for (const [actor, drink] of [["alice", "tea"], ["bob", "coffee"]]) {
  const token = tokens[actor];
  const about = { layer: "about_me", content: `${actor} drinks ${drink}`, key: "drink" };
  const note = { layer: "agent_memory", namespace: "shopping", content: `buy ${drink}` };
  await ask("POST", "/memory", token, { ...about, actor });
  await ask("POST", "/memory", token, { ...note, actor });
}

const layers = ["consensus", "about_me", "agent_memory"];
for (const [actor, token] of Object.entries(tokens)) {
  console.log(`${actor} sees`);
  for (const layer of layers) {
    for (const entry of await ask("GET", "/memory", token, undefined, { layer, actor })) {
      console.log(`  ${layer}: ${entry.content}`);
    }
  }
  const counts = await ask("GET", "/memory/counts", token, undefined, { actor });
  console.log(`  ${layers.map((layer) => `${layer} ${counts[layer]}`).join(", ")}`);
}

const foreign = await ask("GET", "/memory", tokens.alice, undefined, { actor: "bob" });
console.log("alice asks for what bob has:", foreign.error.code);
console.log("bob writes to consensus:", (await ask("POST", "/memory", tokens.bob, rule)).error.code);

for (const [actor, token] of Object.entries(tokens)) {
  await ask("DELETE", "/memory/layer", token, undefined, { layer: "about_me", actor });
  const room = { layer: "agent_memory", namespace: "shopping" };
  await ask("DELETE", "/memory/layer", token, undefined, { ...room, actor });
}
const cleared = await ask("DELETE", "/memory/layer", ADMIN, undefined, { layer: "consensus" });
console.log("cleared:", cleared.deleted);

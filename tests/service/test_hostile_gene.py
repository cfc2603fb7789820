"""Genes that try to get out, run over HTTP: behind the same walls as on the command line."""

from __future__ import annotations

TRIES = """
import fs from 'node:fs';
const tries = [
  () => fs.readFileSync('/etc/passwd', 'utf8'),
  (given) => fs.readFileSync(given.tokens, 'utf8'),
  (given) => fs.readFileSync(given.database).length,
  () => process.getBuiltinModule('node:child_process').execSync('id').length,
  () => fs.writeFileSync('/tmp/hostile-was-here', 'x') ?? 'written',
  () => Object.values(process.env).includes('service-secret') && 'a secret',
];
export async function express(given) {
  if (given.end) process.exit(9);
  const got = [];
  for (const attempt of tries) {
    try { got.push((await attempt(given)) || null); } catch { got.push(null); }
  }
  return { got };
}
"""


def test_a_hostile_gene_is_held_over_http(cell):
    """It gets hold of nothing, its end is one error of its run, and the service goes on."""
    cell.bench.gene("bad", {"index.mjs": TRIES})
    cell.bench.record(3, "bad", ("bad",))
    service = cell.serve(env={"SERVICE_SECRET": "service-secret"})
    path = cell.bench.path
    given = {
        "tokens": path(".rotifer", "tokens.json"),
        "database": path(".rotifer", "playground.db"),
    }

    held = service.ask("POST", "/agents/bad/run", {"input": given}, cell.deployer)
    ended = service.ask("POST", "/agents/bad/run", {"input": {"end": True}}, cell.deployer)
    after = service.ask("POST", "/agents/keeper/run", {"input": {}}, cell.deployer)

    assert (200, [None] * 6) == (held.status, held.value["output"]["got"])
    assert "E0052" == ended.value["error"]["code"]
    assert 200 == after.status

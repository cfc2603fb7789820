/**
 * Genes for tests: compiled by transform.cjs in a process of its own, as the supervisor has it,
 * and loaded through hooks.cjs in another, as a worker does it.
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The flags for each of the two doors to Node's compiler. */
export const DOORS = {
  inner: ['--expose-internals', '--experimental-vm-modules', '--no-warnings'],
  public: ['--experimental-vm-modules', '--no-warnings'],
};

/**
 * What transform.cjs says of sources.
 *
 * @param {Record<string, string>} sources by path
 * @param {keyof typeof DOORS} [door]
 * @returns {Array<{ path: string, format?: string, source?: string | null, fault?: object }>}
 */
export function transform(sources, door = 'inner') {
  const files = Object.entries(sources).map(([path, source]) => ({ path, source }));
  const script = here('../../js-shim/rotifer_shim/transform.cjs');
  const { stdout, stderr, status } = spawnSync(process.execPath, [...DOORS[door], script], {
    input: JSON.stringify({ files }),
    encoding: 'utf8',
  });
  if (status !== 0 || stderr !== '') throw new Error(`transform.cjs: ${status}: ${stderr}`);
  return JSON.parse(stdout).files;
}

/**
 * The same of one source: its outcome, with the source filled in.
 *
 * @param {string} source
 * @param {{ path?: string, door?: keyof typeof DOORS }} [options]
 */
export function transformOne(source, { path = 'index.ts', door = 'inner' } = {}) {
  const [outcome] = transform({ [path]: source }, door);
  return outcome.fault ? outcome : { ...outcome, source: outcome.source ?? source };
}

/**
 * Loads a gene in a process of its own and gives what `look(namespace, shim)` returns there, by way
 * of JSON. Rejects with what was thrown. `look` is sent as text: it sees nothing of the test.
 *
 * @param {Record<string, string>} sources by path; the first is the entry. JSON is served as it is
 * @param {(gene: any, shim: any) => unknown} look
 * @param {{ folder?: string, flags?: string[], door?: keyof typeof DOORS }} [options] `folder`
 *   need not exist, for nothing of a gene is read from the disk
 */
export async function inGene(sources, look, options = {}) {
  const { folder = '/nowhere/genes/g', flags = [], door = 'inner' } = options;
  const code = Object.entries(sources).filter(([path]) => !path.endsWith('.json'));
  const data = Object.entries(sources).filter(([path]) => path.endsWith('.json'));
  const url = (path) => pathToFileURL(`${folder}/${path}`).href;
  const files = [
    ...transform(Object.fromEntries(code), door).map(({ path, format, source, fault }) => [
      url(path),
      fault
        ? { format: 'fault', source: JSON.stringify(fault) }
        : { format, source: source ?? sources[path] },
    ]),
    ...data.map(([path, source]) => [url(path), { format: 'json', source }]),
  ];
  const request = { files, entry: url(Object.keys(sources)[0]), test: String(look) };
  const { output, stderr, status } = spawnSync(process.execPath, [...flags, here('stage.cjs')], {
    input: JSON.stringify(request),
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  if (status !== 0 || stderr !== '') throw new Error(`stage.cjs: ${status}: ${stderr}`);
  const { result, error } = JSON.parse(output[3]);
  if (error) throw Object.assign(new Error(error.message), error);
  return result;
}

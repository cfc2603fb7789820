import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { inGene } from './gene.mjs';

/** A project on the disk, for what Node itself looks up there. */
let project;
before(() => {
  project = mkdtempSync(join(tmpdir(), 'rotifer-shim-'));
});
after(() => rmSync(project, { recursive: true }));

function put(path, text) {
  const full = join(project, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

describe('what a relative import means', () => {
  const specifiers = {
    './lib/a.ts': 'the file itself',
    './lib/a.js': 'the TypeScript behind .js',
    './lib/a': 'the file without its extension',
    './lib/b.mjs': 'the TypeScript behind .mjs',
    './lib/b': '.mts',
    './lib/c.cjs': 'the TypeScript behind .cjs',
    './lib/c': '.cts',
    './lib/d': '.js',
    './lib/e': '.mjs',
    './lib/f': '.cjs',
    './lib': 'the index of a folder',
    './lib/': 'the index of a folder, with a slash',
    './lib/deep': 'the index of a deeper folder, of another extension',
    './lib/../lib/./a': 'a path that is not straight',
  };
  const files = {
    'lib/a.ts': 'export const name: string = "a.ts";',
    'lib/b.mts': 'export const name: string = "b.mts";',
    'lib/c.cts': 'exports.name = "c.cts" as string;',
    'lib/d.js': 'export const name = "d.js";',
    'lib/e.mjs': 'export const name = "e.mjs";',
    'lib/f.cjs': 'exports.name = "f.cjs";',
    'lib/index.ts': 'export const name: string = "index.ts";',
    'lib/deep/index.cjs': 'exports.name = "index.cjs";',
  };
  const expected = [
    'a.ts',
    'a.ts',
    'a.ts',
    'b.mts',
    'b.mts',
    'c.cts',
    'c.cts',
    'd.js',
    'e.mjs',
    'f.cjs',
    'index.ts',
    'index.ts',
    'index.cjs',
    'a.ts',
  ];

  test('by import', async () => {
    const lines = Object.keys(specifiers).map((s, at) => `import { name as n${at} } from "${s}";`);
    const names = Object.keys(specifiers).map((_, at) => `n${at}`);
    const source = `${lines.join('\n')}\nexport const names: string[] = [${names}];`;

    const found = await inGene({ 'index.ts': source, ...files }, (gene) => gene.names);

    assert.deepEqual(found, expected);
  });

  test('by import()', async () => {
    const source = `export const load = (s: string) => import(s).then((m) => m.name);
      export const all = ${JSON.stringify(Object.keys(specifiers))};`;

    const found = await inGene({ 'index.ts': source, ...files }, (gene) =>
      Promise.all(gene.all.map(gene.load)),
    );

    assert.deepEqual(found, expected);
  });

  test('by require', async () => {
    const source = `exports.names = ${JSON.stringify(Object.keys(specifiers))}
      .map((specifier) => require(specifier).name);`;

    const found = await inGene({ 'index.js': source, ...files }, (gene) => gene.names);

    assert.deepEqual(found, expected);
  });

  test('from a folder below, up to the entry', async () => {
    const files = {
      'index.ts': 'export { up } from "./lib/x"; export const top: number = 1;',
      'lib/x.ts': `import { top } from ".."; import * as again from "../";
        export const up = () => [top, again.top];`,
    };

    assert.deepEqual(await inGene(files, (gene) => gene.up()), [1, 1]);
  });

  test('a file that is there wins over the TypeScript behind its name', async () => {
    const files = {
      'index.ts': 'export { name } from "./a.js";',
      'a.js': 'export const name = "a.js";',
      'a.ts': 'export const name: string = "a.ts";',
    };

    assert.equal(await inGene(files, (gene) => gene.name), 'a.js');
  });

  test('a file wins over a folder of its name', async () => {
    const files = {
      'index.ts': 'export { name } from "./a";',
      'a.ts': 'export const name: string = "a.ts";',
      'a/index.ts': 'export const name: string = "a/index.ts";',
    };

    assert.equal(await inGene(files, (gene) => gene.name), 'a.ts');
  });

  test('a file URL, and a query that makes another instance', async () => {
    const files = {
      'index.ts': `const a = await import(new URL("./a.ts", import.meta.url).href);
        const b = await import("./a?again");
        export const seen = [a.id === b.id, a.url, b.url];`,
      'a.ts': 'export const id: object = {}; export const url = import.meta.url;',
    };

    assert.deepEqual(await inGene(files, (gene) => gene.seen), [
      false,
      'file:///nowhere/genes/g/a.ts',
      'file:///nowhere/genes/g/a.ts?again',
    ]);
  });
});

describe('packages', () => {
  before(() => {
    const exports = { '.': './main.js', './sub': './sub.js' };
    put('node_modules/es/package.json', JSON.stringify({ name: 'es', type: 'module', exports }));
    put('node_modules/es/main.js', 'export { value } from "./inner.js"; export const kind = "es";');
    put('node_modules/es/inner.js', 'export const value = 1;');
    put('node_modules/es/sub.js', 'export default "sub";');
    put('node_modules/cjs/package.json', '{"name": "cjs", "main": "./lib"}');
    put('node_modules/cjs/lib/index.js', 'exports.kind = "cjs"; exports.part = require("./part");');
    put('node_modules/cjs/lib/part.js', 'module.exports = "part";');
    put('node_modules/@scope/data/package.json', '{"name": "@scope/data", "version": "1.0.0"}');
    put('node_modules/@scope/data/index.json', '{"v": 1}');
  });

  const options = () => ({ folder: join(project, 'genes/g') });

  test('come from the node_modules of the project', async () => {
    const source = `import { createRequire } from "node:module";
      import { value, kind } from "es"; import sub from "es/sub"; import cjs from "cjs";
      import data from "@scope/data/index.json" with { type: "json" };
      const required = createRequire(import.meta.url)("cjs");
      export const seen = [value, kind, sub, cjs.kind, cjs.part, data.v, required.kind];`;

    const seen = await inGene({ 'index.ts': source }, (gene) => gene.seen, options());

    assert.deepEqual(seen, [1, 'es', 'sub', 'cjs', 'part', 1, 'cjs']);
  });

  test('can be required', async () => {
    const source = `exports.seen = [require("es").value, require("cjs").part,
      require("node:path").sep, require("fs").constants.F_OK];`;

    const seen = await inGene({ 'index.cts': source }, (gene) => gene.seen, options());

    assert.deepEqual(seen, [1, 'part', '/', 0]);
  });

  test('a gene may have node_modules of its own', async () => {
    put('genes/g/node_modules/own/package.json', '{"name": "own"}');
    put('genes/g/node_modules/own/index.js', 'module.exports = require("./more");');
    put('genes/g/node_modules/own/more.js', 'module.exports = "more";');
    const files = { 'index.ts': 'import own from "own"; export { own };' };

    assert.equal(await inGene(files, (gene) => gene.own, options()), 'more');
  });

  test('one that is not there is named, and who wants it', async () => {
    const files = { 'index.ts': 'import "no-such-package";' };

    const importer = join(project, 'genes/g/index.ts');
    await assert.rejects(
      inGene(files, () => null, options()),
      {
        code: 'ERR_MODULE_NOT_FOUND',
        message: `Cannot find package 'no-such-package' imported from ${importer}`,
      },
    );
  });
});

describe('@rotifer/playground', () => {
  test('is the shim, however it is asked for', async () => {
    const files = {
      'index.ts': `import { MemoryError } from "@rotifer/playground/memory";
        import type { GeneMemoryAccess } from "@rotifer/playground/memory";
        import { MemoryError as second } from "@rotifer/playground";
        import { third } from "./c.cjs";
        export { MemoryError, second, third };
        const late = import("@rotifer/playground/memory");
        export const fourth = async () => (await late).MemoryError;`,
      'c.cjs': 'exports.third = require("@rotifer/playground/memory").MemoryError;',
    };

    const seen = await inGene(files, async (gene, { MemoryError }) => {
      const classes = [gene.MemoryError, gene.second, gene.third, await gene.fourth()];
      return classes.map((found) => found === MemoryError);
    });

    assert.deepEqual(seen, [true, true, true, true]);
  });

  test('stays what it is when a gene meddles with globals', async () => {
    const source = `const key = Symbol.for("rotifer.memory");
      try { globalThis[key] = {}; } catch {}
      try { delete globalThis[key]; } catch {}
      export const late = async () => (await import("@rotifer/playground")).MemoryError;`;

    const isSame = await inGene({ 'index.js': source }, async (gene, { MemoryError }) => {
      return (await gene.late()) === MemoryError;
    });

    assert.equal(isSame, true);
  });
});

describe('what is not served', () => {
  test('is not found, by name and importer, also when it is on the disk', async () => {
    put('genes/h/late.ts', 'export const late = 1;');
    const folder = join(project, 'genes/h');

    await assert.rejects(
      inGene({ 'index.ts': 'import "./late";' }, () => null, { folder }),
      {
        code: 'ERR_MODULE_NOT_FOUND',
        message: `Cannot find module './late' imported from ${folder}/index.ts`,
      },
    );
    await assert.rejects(
      inGene({ 'index.js': 'require("./late.ts");' }, () => null, { folder }),
      {
        code: 'MODULE_NOT_FOUND',
        message: `Cannot find module './late.ts' imported from ${folder}/index.js`,
      },
    );
  });

  test('the message says what a gene can load', async () => {
    const files = { 'index.ts': 'import wasm from "./x.wasm"; wasm();' };

    await assert.rejects(
      inGene(files, () => null),
      {
        message: /'\.\/x\.wasm' imported from \/nowhere.*a gene can load \.ts \.mts/,
      },
    );
  });

  test('outside of the gene, Node answers', async () => {
    const shared = put('genes/shared.mjs', 'export const shared = 1;');
    const folder = join(project, 'genes/h');

    const files = { 'index.ts': 'export { shared } from "../shared.mjs";' };

    assert.equal(await inGene(files, (gene) => gene.shared, { folder }), 1);
    const none = shared.replace('shared', 'none');
    await assert.rejects(
      inGene({ 'index.ts': 'import "../none.mjs";' }, () => null, { folder }),
      {
        message: `Cannot find module '${none}' imported from ${folder}/index.ts`,
      },
    );
  });
});

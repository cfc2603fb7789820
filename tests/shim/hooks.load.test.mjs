import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { inGene } from './gene.mjs';

const SHIM = join(import.meta.dirname, '../../js-shim/rotifer_shim');

/** A project on the disk, for what Node itself looks up there. */
let project;
before(() => {
  project = mkdtempSync(join(tmpdir(), 'rotifer-shim-'));
});
after(() => rmSync(project, { recursive: true }));

/** `require.resolve` asks the hooks since Node 24.15 (nodejs/node#62028). */
const [major, minor] = process.versions.node.split('.').map(Number);
const resolvesByHooks = major > 24 || (major === 24 && minor >= 15);

function put(path, text) {
  const full = join(project, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

describe('JSON', () => {
  const data = { 'data.json': '{"greeting": "hé", "n": [1], "not a name": 2, "default": 3}' };

  test('imported bare, as default', async () => {
    const files = { 'index.ts': 'import data from "./data.json"; export { data };', ...data };

    assert.deepEqual(await inGene(files, (gene) => gene.data), JSON.parse(data['data.json']));
  });

  test('imported with the attribute', async () => {
    const files = {
      'index.ts': 'import data from "./data" with { type: "json" }; export { data };',
      ...data,
    };

    assert.deepEqual(await inGene(files, (gene) => gene.data), JSON.parse(data['data.json']));
  });

  test('its keys imported by name, as bundlers allow', async () => {
    const source = `import { greeting, "not a name" as other } from "./data.json";
      import * as all from "./data.json";
      export const seen = [greeting, other, all.n, Object.keys(all.default).length];`;

    const seen = await inGene({ 'index.ts': source, ...data }, (gene) => gene.seen);

    assert.deepEqual(seen, ['hé', 2, [1], 4]);
  });

  test('required', async () => {
    const files = { 'index.js': 'exports.data = require("./data");', ...data };

    assert.deepEqual(await inGene(files, (gene) => gene.data), JSON.parse(data['data.json']));
  });

  test('of every kind of value', async () => {
    const texts = ['null', '1.5', '"\\u2028 `${}` \\\\"', '[{}]', '{"__proto__": {"a": 1}}', '{}'];
    const files = Object.fromEntries(texts.map((text, at) => [`${at}.json`, text]));
    const source = `export const all = Promise.all(${JSON.stringify(Object.keys(files))}
      .map(async (name) => JSON.stringify((await import("./" + name)).default)));`;

    const seen = await inGene({ 'index.js': source, ...files }, (gene) => gene.all);

    assert.deepEqual(
      seen,
      texts.map((text) => JSON.stringify(JSON.parse(text))),
    );
  });

  test('of very many keys is data: a default, no names', async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, at]));
    const files = {
      'index.ts': `import * as all from "./many.json";
        export const seen = [Object.keys(all), Object.keys(all.default).length];`,
      'many.json': JSON.stringify(many),
    };

    assert.deepEqual(await inGene(files, (gene) => gene.seen), [['default'], 5_000]);
  });
});

describe('formats', () => {
  test('an enclosing package.json decides nothing', async () => {
    for (const type of ['module', 'commonjs']) {
      put(`${type}/package.json`, JSON.stringify({ type }));
      const folder = join(project, type, 'genes/g');
      const files = {
        'index.ts': 'import c from "./c.js"; export const seen: unknown[] = [import.meta.url, c];',
        'c.js': 'module.exports = [typeof require, require("./d")];',
        'd.ts': 'import e = require("./e.js"); export = [e.default];',
        'e.js': 'export default "e";',
      };

      const [url, c] = await inGene(files, (gene) => gene.seen, { folder });

      assert.match(url, /^file:.*\/genes\/g\/index\.ts$/);
      assert.deepEqual(c, ['function', ['e']]);
    }
  });

  test('CommonJS has all of its own', async () => {
    const files = {
      'index.js': `const { helper } = require('./helper');
        exports.express = () => [
          __filename, __dirname, module.id === __filename, require.main === module, helper(),
          require('./helper') === require('./helper.ts'),
          Object.keys(require.cache).filter((name) => name.startsWith(__dirname)).length,
        ];`,
      'helper.ts': 'exports.helper = (): string => "helped";',
    };

    assert.deepEqual(await inGene(files, (gene) => gene.express()), [
      '/nowhere/genes/g/index.js',
      '/nowhere/genes/g',
      true,
      false,
      'helped',
      true,
      2,
    ]);
  });

  test('require.resolve', { skip: !resolvesByHooks && 'this Node asks no hooks' }, async () => {
    const files = { 'index.js': 'exports.path = require.resolve("./lib");', 'lib/index.ts': '' };

    assert.equal(await inGene(files, (gene) => gene.path), '/nowhere/genes/g/lib/index.ts');
  });

  test('names of a CommonJS module can be imported', async () => {
    const files = {
      'index.ts': 'import whole, { a } from "./c.cjs"; export const seen = [a, whole.b];',
      'c.cjs': 'exports.a = 1; exports.b = 2;',
    };

    assert.deepEqual(await inGene(files, (gene) => gene.seen), [1, 2]);
  });

  test('circles of require and of import', async () => {
    const files = {
      'index.ts': `import { a } from "./a"; import { viaB } from "./c1.cjs";
        export const seen = [a(), viaB()];`,
      'a.ts': `import { b } from "./b";
        export const a = (): string => b() + "a"; export const tail: string = "t";`,
      'b.ts': 'import { tail } from "./a"; export const b = (): string => "b" + tail;',
      'c1.cjs': 'exports.one = 1; const two = require("./c2.cjs"); exports.viaB = () => two.sum();',
      'c2.cjs': 'const one = require("./c1.cjs"); exports.sum = () => one.one + 1;',
    };

    assert.deepEqual(await inGene(files, (gene) => gene.seen), ['bta', 2]);
  });

  test('top-level await, and a shebang', async () => {
    const source = '#!/usr/bin/env node\nexport const seen: number = await Promise.resolve(4);';

    assert.equal(await inGene({ 'index.mts': source }, (gene) => gene.seen), 4);
  });
});

describe('import.meta', () => {
  test('is that of the source', async () => {
    const source = `export const seen = [import.meta.url, import.meta.filename, import.meta.dirname,
      import.meta.resolve("./lib/x.js")];`;
    const files = { 'index.ts': source, 'lib/x.ts': 'export {};' };

    assert.deepEqual(await inGene(files, (gene) => gene.seen), [
      'file:///nowhere/genes/g/index.ts',
      '/nowhere/genes/g/index.ts',
      '/nowhere/genes/g',
      'file:///nowhere/genes/g/lib/x.ts',
    ]);
  });
});

describe('paths of every kind', () => {
  const names = [
    'with space',
    'a#b',
    '100%',
    '%41',
    'what?',
    'ñandú-日本-😀',
    'a&b=c',
    "it's",
    'tab\there',
    'back\\slash',
    '[id]',
    '~x;y,z',
  ];

  for (const name of names) {
    test(JSON.stringify(name), async () => {
      const folder = `/nowhere/${name}/genes/g`;
      const files = {
        'index.ts': `import data from "./data.json"; import c from "./c.cjs";
          export const seen: unknown[] = [import.meta.filename, data, c];
          export const fail = () => { throw new Error("x"); };`,
        'data.json': '1',
        'c.cjs': 'module.exports = [__filename, require("./d")];',
        'd.ts': 'module.exports = "d" as string;',
      };

      const seen = await inGene(
        files,
        (gene) => {
          try {
            gene.fail();
          } catch (error) {
            return [...gene.seen, error.stack.split('\n')[1]];
          }
        },
        { folder },
      );

      assert.deepEqual(seen.slice(0, 3), [`${folder}/index.ts`, 1, [`${folder}/c.cjs`, 'd']]);
      assert.match(seen[3], /index\.ts:3:/);
    });
  }

  test('a file whose name is not plain, required by that name', async () => {
    const files = {
      'index.js': 'exports.seen = [require("./a b#c%41?.js"), require("./é")];',
      'a b#c%41?.js': 'module.exports = 1;',
      'é.ts': 'module.exports = 2 as number;',
    };

    assert.deepEqual(await inGene(files, (gene) => gene.seen), [1, 2]);
  });

  test('a file whose name is not plain, imported by its URL', async () => {
    const files = {
      'index.ts': `import one from "./a%20b%23c%2541%3F.js";
        import two from "./é.js"; import three from "./%C3%A9";
        export const seen = [one, two, three];`,
      'a b#c%41?.js': 'export default 1;',
      'é.ts': 'export default 2 as number;',
    };

    assert.deepEqual(await inGene(files, (gene) => gene.seen), [1, 2, 2]);
  });
});

describe('a file that cannot run', () => {
  const broken = { 'broken.ts': 'const a = 1;\n\n@a class B {}\nexport { B };' };

  test('is no matter while it is not loaded', async () => {
    const files = { 'index.ts': 'export const a: number = 1;', ...broken };

    assert.equal(await inGene(files, (gene) => gene.a), 1);
  });

  test('fails when it is loaded, with file, line and way out', async () => {
    const sources = ['import "./broken";', 'await import("./broken.js");', 'require("./broken");'];
    for (const source of sources) {
      await assert.rejects(
        inGene({ 'index.ts': source, ...broken }, () => null),
        (error) => {
          assert.equal(error.name, 'SyntaxError');
          assert.equal(error.code, 'ROTIFER_FAULT');
          const wanted = /^\/nowhere\/genes\/g\/broken\.ts:3: decorators cannot be run\n.*tsc/;
          assert.match(error.message, wanted);
          assert.equal(error.stack, `SyntaxError: ${error.message}`);
          assert.equal(error.fault.where, '/nowhere/genes/g/broken.ts:3');
          return true;
        },
      );
    }
  });
});

test('nothing of the gene needs to be readable', async () => {
  const readable = [`${SHIM}/`, `${import.meta.dirname}/`];
  const flags = ['--permission', ...readable.map((path) => `--allow-fs-read=${path}`)];
  const files = {
    'index.ts': `import data from "./data.json"; import c from "./c.cjs";
      enum E { A = 3 }
      export const seen = [data, c, E.A];`,
    'data.json': '1',
    'c.cjs': 'module.exports = require("./d");',
    'd.js': 'module.exports = 2;',
  };

  const folder = join(project, 'genes/i');

  assert.deepEqual(await inGene(files, (gene) => gene.seen, { flags, folder }), [1, 2, 3]);
});

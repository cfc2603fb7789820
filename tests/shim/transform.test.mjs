import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { DOORS, transform, transformOne } from './gene.mjs';

const MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,(.*)\n$/;

/** The code without its map. */
const codeOf = ({ source }) => source.replace(MAP, '');

for (const door of Object.keys(DOORS)) {
  describe(`by the ${door} door`, () => {
    test('plain types are blanked: every position is kept', () => {
      const source = [
        'import type { A } from "./a"; import { b, type C } from "./b";',
        'export interface I<T> { x: T }',
        'export const f = <T,>(x: T, y?: string): x is T => (x as any)!.z satisfies C;',
        'abstract class K<T> implements I<T> { declare q: number; readonly x!: T; private y = b; }',
        'export { K };',
      ].join('\n');

      const { format, source: code } = transformOne(source, { door });

      assert.equal(format, 'module');
      assert.equal(code.length, source.length);
      for (const [at, line] of code.split('\n').entries()) {
        const original = source.split('\n')[at];
        for (const [column, letter] of [...line].entries()) {
          assert.ok(letter === ' ' || letter === ';' || letter === original[column]);
        }
      }
    });

    const more = {
      'an enum': ['export enum E { A, B = 5, C }', 'E["B"] = 5'],
      'a const enum': ['const enum E { A = 7 }\nexport const a = E.A;', '7'],
      'a namespace': ['export namespace N { export const a = 1; }', 'N.a = 1'],
      'a parameter property': [
        'export class P { constructor(private x: number) {} }',
        'this.x = x',
      ],
      'import … = require()': ['import a = require("./a");\na();', 'const a = require("./a")'],
      'export =': ['export = { a: 1 as number };', 'module.exports = {'],
      'an import alias': ['import { a } from "./a";\nimport b = a.c;\nb();', 'const b = a.c'],
      'a type assertion with <>': ['export const a = <number>b;', 'export const a = b'],
    };
    for (const [name, [source, expected]] of Object.entries(more)) {
      test(`${name} is transformed, and brings a map of the file`, () => {
        const outcome = transformOne(source, { door, path: 'lib/a #é%.ts' });

        assert.ok(codeOf(outcome).includes(expected), outcome.source);
        const map = JSON.parse(Buffer.from(MAP.exec(outcome.source)[1], 'base64').toString());
        assert.deepEqual(map.sources, ['./a%20%23%C3%A9%25.ts']);
      });
    }

    test('what is JavaScript already is left as it is', () => {
      for (const source of [
        '',
        '// nothing\r\n',
        'export const a = "\u2028é😀";\n',
        '#!/bin/x\n1',
      ]) {
        assert.equal(transformOne(source, { door }).source, source);
      }
    });

    const faults = {
      'a syntax error': ['const a = 1;\nlet x: = 2;', 2, /Unexpected token/],
      'a syntax error after CR LF': ['const a = 1;\r\n\r\nlet x: = 2;', 3, /Unexpected token/],
      'a syntax error beside an enum': ['enum E { A }\n\nlet x = ;', 3, /Expression expected/],
      'an end that comes too early': ['export const a = {\n  b,\n', 2, /./],
      'a name declared twice': ['export const a = 1;\n\nexport const a = 2;', 3, /already been/],
      'an export of nothing': ['\nexport { nothing };', 2, /'nothing' is not defined/],
      'a decorator': ['function d() {}\n\n  @d class A {}\nexport { A };', 3, /^decorators/],
      'a decorated method': ['export class A {\n  @d m() {}\n}', 2, /^decorators/],
      'a decorator in what is transformed': [
        'enum E { A }\nexport interface I {\n  a: 1;\n}\n\n@d class A {}',
        6,
        /^decorators/,
      ],
      'an accessor field': [
        'export class A {\n  accessor x = 1;\n}',
        2,
        /Unexpected identifier 'x'/,
      ],
      'module in place of namespace': ['\nmodule M { }', 2, /Use `namespace`/],
      JSX: ['\n\nexport const a = <div/>;', 3, /./],
    };
    for (const [name, [source, line, message]] of Object.entries(faults)) {
      test(`${name} is a fault with its line`, () => {
        const { fault } = transformOne(source, { door });

        assert.equal(fault.line, line);
        assert.match(fault.message, message);
        assert.ok(fault.column >= 1);
      });
    }

    test('the faults that have a way out name it', () => {
      const help = (source, path) => transformOne(source, { door, path }).fault.help;

      assert.match(help('@d class A {}'), /tsc/);
      assert.match(help('class A { accessor x = 1 }'), /getter/);
      assert.match(help('export const a = 1;', 'a.cts'), /require\(\)/);
      assert.equal(help('let x: = 1'), null);
    });
  });
}

describe('imports used for types alone', () => {
  const table = {
    'import type { A } from "x"; export const a = {} as A;': [],
    'import { type A } from "x"; export const a = {} as A;': [],
    'import { A } from "x"; export const a = {} as A;': [],
    'import A from "x"; export const a = {} as A;': [],
    'import * as A from "x"; export const a = {} as A.B;': [],
    'import { A, b } from "x"; export const a: A = b;': ['import { b } from "x"'],
    'import D, { A } from "x"; export const a: A = new D();': ['import D from "x"'],
    'import { A } from "x"; export type { A }; export const a = 1;': [],
    'import { A } from "x"; export type B = A; export const a = 1;': [],
    'import { A } from "x"; export class B implements A {}': [],
    'import { A } from "x"; export class B extends A {}': ['import { A } from "x"'],
    'import { A } from "x"; export const a: typeof A = 1;': [],
    'import { A } from "x"; export { A };': ['import { A } from "x"'],
    'import { neverUsed } from "x"; export const a = 1;': [],
    'import "x"; export const a = 1;': ['import "x"'],
    'export type { A } from "x"; export const a = 1;': [],
    'export * from "x";': ['export * from "x"'],
  };
  for (const [source, expected] of Object.entries(table)) {
    test(source, () => {
      const code = codeOf(transformOne(source));

      assert.deepEqual(code.match(/(?:import|export)\b[^;]*"x"/g) ?? [], expected);
    });
  }

  test('a type that is exported by name vanishes too', () => {
    const code = codeOf(transformOne('type A = 1;\nconst b = 2;\nexport { A, b };'));

    assert.match(code, /export \{ b \}/);
  });

  test('by the public door, those that say `type` vanish; the others stay', () => {
    const source =
      'import type { A } from "x";\nimport { B } from "y";\nexport const c = {} as A & B;';

    const { source: code } = transformOne(source, { door: 'public' });

    assert.deepEqual(code.match(/import[^;]*/g), ['import { B } from "y"']);
  });
});

describe('the format', () => {
  const table = {
    'export const a = 1;': 'module',
    'import "./x";': 'module',
    'const a = await 1;': 'module',
    'const a = import.meta.url;': 'module',
    'const require = 1;': 'module',
    'export {};': 'module',
    'enum E { A }\nexport {};': 'module',
    'module.exports = 1;': 'commonjs',
    'const a = require("a");': 'commonjs',
    'import("a");': 'commonjs',
    'import type { A } from "a";\nmodule.exports = {} as A;': 'commonjs',
    'import type { A } from "a";\nenum E { A }\nmodule.exports = E as A;': 'commonjs',
    'var a = 1;': 'commonjs',
    '': 'commonjs',
  };
  for (const [source, format] of Object.entries(table)) {
    test(`of ${JSON.stringify(source)} is ${format}`, () => {
      assert.equal(transformOne(source).format, format);
    });
  }

  test('is what the name says', () => {
    assert.equal(transformOne('var a: number;', { path: 'a.mts' }).format, 'module');
    assert.equal(transformOne('var a;', { path: 'a.mjs' }).format, 'module');
    assert.equal(transformOne('var a: number;', { path: 'a.cts' }).format, 'commonjs');
    assert.equal(transformOne('return;', { path: 'a.cjs' }).format, 'commonjs');
    assert.equal(
      transformOne('return;', { path: 'a.mjs' }).fault.message,
      'Illegal return statement',
    );
    assert.equal(transformOne('export {};', { path: 'a.cjs' }).fault.line, 1);
  });

  test('JavaScript may do what TypeScript may not', () => {
    assert.equal(transformOne('with ({}) { return 010; }', { path: 'a.js' }).format, 'commonjs');
  });

  test('a fault is told as the reading has it that got further', () => {
    // As CommonJS, the first line is wrong already.
    const { fault } = transformOne('export const a = 1;\n\nlet b = ;', { path: 'a.js' });
    assert.deepEqual([fault.line, fault.column], [3, 9]);

    const { fault: other } = transformOne('with (a) {}\n\nlet b = ;', { path: 'a.js' });
    assert.deepEqual([other.line, other.column], [3, 9]);
  });
});

describe('a compiler that breaks', () => {
  test('is a fault of the file it broke on, and is asked no more', () => {
    const deep = `export const a = ${'['.repeat(100_000)}`;

    const outcomes = transform({ 'a.ts': 'export {};', 'b.ts': deep, 'c.ts': 'export {};' });

    assert.deepEqual(
      outcomes.map(({ path }) => path),
      ['a.ts', 'b.ts'],
    );
    assert.match(outcomes[1].fault.message, /^Node's compiler failed: /);
  });
});

test('nothing of a source is executed', () => {
  const source = 'process.exit(3); throw 1; export const a = await new Promise(() => {});';

  assert.equal(transformOne(source, { path: 'a.mjs' }).format, 'module');
  assert.equal(transformOne('process.exit(3)', { path: 'a.cjs' }).format, 'commonjs');
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const TOP = join(import.meta.dirname, '../..');
const SHIM = join(TOP, 'js-shim/rotifer_shim');

/** What tsc says of a project; empty when all is well. */
function tsc(project) {
  const compiler = join(TOP, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' }).stdout;
}

/** A project as `rotifer init` makes it. */
const project = mkdtempSync(join(tmpdir(), 'rotifer-types-'));
after(() => rmSync(project, { recursive: true }));
cpSync(join(SHIM, 'project/tsconfig.json'), join(project, 'tsconfig.json'));
mkdirSync(join(project, 'types'));
cpSync(join(SHIM, 'memory.d.ts'), join(project, 'types/memory.d.ts'));
mkdirSync(join(project, 'genes/g/lib'), { recursive: true });

test('the shim is what its JSDoc says', () => {
  assert.equal(tsc(join(TOP, 'js-shim')), '');
});

test('the types take the seed’s example unchanged, and refuse what the rules refuse', () => {
  assert.equal(tsc(join(import.meta.dirname, 'types')), '');
});

test('a new project’s tsconfig.json finds the types, and knows what the loader knows', () => {
  cpSync(join(import.meta.dirname, 'types/seed.ts'), join(project, 'genes/g/index.ts'));
  writeFileSync(join(project, 'genes/g/lib/data.json'), '{"a": 1}');
  writeFileSync(join(project, 'genes/g/lib/index.ts'), 'export const a = 1;\n');
  writeFileSync(
    join(project, 'genes/g/other.ts'),
    `import { a } from "./lib";
    import { a as b } from "./lib/index.js";
    import { a as c } from "./lib/index.ts";
    import data, { a as d } from "./lib/data.json";
    export const numbers: number[] = [a, b, c, d, data.a];
    `,
  );

  assert.equal(tsc(project), '');
});

test('its mistakes are found there', () => {
  writeFileSync(
    join(project, 'genes/g/index.ts'),
    `import type { GeneContext } from "@rotifer/playground/memory";
    export const express = (_: unknown, ctx: GeneContext) => ctx.memory.readMemory("k", "cache");
    `,
  );

  assert.match(tsc(project), /index\.ts\(2,.*Argument of type '"cache"' is not assignable/);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { inGene } from './gene.mjs';

/** The gene's frames of what `express` throws, and whether source maps are on. */
async function framesOf(files, folder) {
  const look = (gene) => {
    try {
      (gene.express ?? gene.default.express)();
      return null;
    } catch (error) {
      return { isMapped: process.sourceMapsEnabled, frames: error.stack.split('\n') };
    }
  };
  const { isMapped, frames } = await inGene(files, look, { folder });
  return { isMapped, frames: frames.filter((line) => line.includes('/genes/g/')) };
}

describe('stack traces', () => {
  test('of plain types: positions as they are, and source maps stay off', async () => {
    const { isMapped, frames } = await framesOf({
      'index.ts': [
        'import { deep, type T } from "./deep";',
        '',
        'export function express(): T {',
        '  return deep<T>(1 as number);',
        '}',
      ].join('\n'),
      'deep.ts': [
        'export type T = number;',
        'export interface I {',
        '  a: string;',
        '}',
        'export const deep = <X,>(x: number): X => { throw new Error("deep"); };',
      ].join('\n'),
    });

    assert.equal(isMapped, false);
    assert.match(frames[0], /\/genes\/g\/deep\.ts:5:51\b/);
    assert.match(frames[1], /\/genes\/g\/index\.ts:4:10\b/);
  });

  test('past enums, namespaces, parameter properties and vanished imports', async () => {
    const files = {
      'index.ts': [
        'import { T } from "./deep";',
        'import { Deep } from "./deep";',
        'enum Color {',
        '  Red,',
        '',
        '  Green,',
        '}',
        'namespace Space {',
        '  export const a = 1;',
        '}',
        '',
        'export function express(): T {',
        '  const color = Color.Green;',
        '  return new Deep(color, Space.a).fail();',
        '}',
      ].join('\n'),
      'deep.ts': [
        'export type T = number;',
        'export class Deep {',
        '  constructor(',
        '    private readonly a: number,',
        '    public b: number,',
        '  ) {}',
        '',
        '  fail(): number {',
        '    throw new Error(`${this.a}${this.b}`);',
        '  }',
        '}',
      ].join('\n'),
    };

    const { isMapped, frames } = await framesOf(files, '/nowhere/a #%?é/genes/g');

    assert.equal(isMapped, true);
    assert.match(frames[0], /\/nowhere\/a #%\?é\/genes\/g\/deep\.ts:9:11\b/);
    assert.match(frames[1], /\/nowhere\/a #%\?é\/genes\/g\/index\.ts:14:35\b/);
  });

  test('of CommonJS', async () => {
    const { frames } = await framesOf({
      'index.cts': [
        'import deep = require("./deep");',
        'enum E { A }',
        '',
        'export = {',
        '  express() {',
        '    return deep.fail(E.A);',
        '  },',
        '};',
      ].join('\n'),
      'deep.cts': [
        '// a comment',
        'exports.fail = (e: number): never => {',
        '  throw new Error(String(e));',
        '};',
      ].join('\n'),
    });

    assert.match(frames[0], /\/genes\/g\/deep\.cts:3:9\b/);
    assert.match(frames[1], /\/genes\/g\/index\.cts:6:17\b/);
  });

  test('of lines that end in CR LF, after a shebang', async () => {
    const { frames } = await framesOf({
      'index.ts': [
        '#!/usr/bin/env node',
        'enum E { A }',
        '',
        'export function express(): void {',
        '  throw new Error(String(E.A));',
        '}',
      ].join('\r\n'),
    });

    assert.match(frames[0], /index\.ts:5:9\b/);
  });
});

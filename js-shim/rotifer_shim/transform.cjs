// Turns a gene's source files into JavaScript that is ready to run (design §4). Nothing of the gene is executed here: this
// process is trusted, it only compiles.
//
// stdin:  {"files": [{"path": "lib/x.ts", "source": "..."}]}
// stdout: {"files": [{"path": "lib/x.ts", "format": "module", "source": "..."}]}, one line; `source` is null where the file
//         runs as it is. A file that cannot run has `fault` in the place of `format` and `source`.
//
// Run as: node --expose-internals --experimental-vm-modules --no-warnings transform.cjs
'use strict';

const { readFileSync, writeFileSync } = require('node:fs');
const module_ = require('node:module');
const vm = require('node:vm');

/**
 * @typedef {{ message: string, line: number | null, column: number | null, help: string | null }} Fault
 * @typedef {{ code: string, map: string | null }} Output `map` is null where every position is kept
 * @typedef {{ strip(source: string): string, transform(source: string, name: string): Output, elides(source: string): boolean }} Compiler
 *   `strip` keeps every position and throws an {@link Unstrippable} where that cannot be done; `transform` does everything
 *   and brings a map; `elides` says whether some import serves types alone and must vanish with them.
 */

/** The words a syntax error is reported under; no path, so that it can be found again in V8's text. */
const NAME = 'gene';

const WAY_OUT = {
  decorator: 'Node cannot run decorators. Call the decorator as a function, or compile the gene to JavaScript first '
    + '(tsc) and keep index.js in its place.',
  accessor: 'Node cannot run `accessor` fields. Write a getter and a setter in its place.',
  commonjs: 'The name of this file says CommonJS. Use require() and module.exports, or rename it (.mts, .mjs, .ts, .js).',
};

/** Valid TypeScript that needs more than the removal of types. */
class Unstrippable extends Error {}

/** A file that cannot run, and why. */
class FaultError extends Error {
  /** @param {Partial<Fault> & { message: string }} fault */
  constructor({ message, line = null, column = null, help = null }) {
    super(message);
    /** @type {Fault} */
    this.fault = { message, line, column, help };
  }
}

/**
 * The compiler inside Node, by its inner door: the only one of the two ways in which an import used for types alone
 * vanishes as TypeScript's own compiler makes it (`verbatimModuleSyntax: false`).
 *
 * @returns {Compiler | null} null where this Node has no such door
 */
function innerCompiler() {
  /** @type {(source: string, options: object) => { code: string, map?: string }} */
  let transformSync;
  try {
    // @ts-expect-error - internal; it exists under --expose-internals
    ({ transformSync } = require('internal/deps/amaro/dist/index'));
    transformSync('enum E { A }', optionsOf('', {}));
  } catch {
    return null;
  }
  /**
   * @param {string} source
   * @param {object} options
   */
  const run = (source, options) => {
    try {
      return transformSync(source, options);
    } catch (/** @type {any} */ thrown) {
      if (thrown?.code === 'UnsupportedSyntax') throw new Unstrippable(thrown.message, { cause: placeOf(thrown) });
      throw new FaultError({ message: String(thrown?.message ?? thrown), ...placeOf(thrown) });
    }
  };
  return {
    strip: (source) => run(source, { mode: 'strip-only', sourceMap: false, filename: NAME }).code,
    transform(source, name) {
      const { code, map } = run(source, { ...optionsOf(source, { verbatimModuleSyntax: false }), sourceMap: true, filename: name });
      return { code, map: map ?? null };
    },
    elides(source) {
      // The same source printed twice: what differs is what vanished.
      if (!/\b(?:import|export)\b/.test(source)) return false;
      const [kept, elided] = [true, false].map((verbatimModuleSyntax) => run(source, optionsOf(source, { verbatimModuleSyntax })).code);
      return kept !== elided;
    },
  };
}

/**
 * @param {string} source
 * @param {object} transform
 */
function optionsOf(source, transform) {
  // `export {}` is how an author says "this is a module"; nothing else may make one of a file.
  const noEmptyExport = !/\bexport\s*\{\s*\}/.test(source);
  return { mode: 'transform', sourceMap: false, filename: NAME, transform: { nativeClassProperties: true, noEmptyExport, ...transform } };
}

/** @param {{ startLine?: number, startColumn?: number }} thrown */
function placeOf({ startLine, startColumn }) {
  return { line: startLine ?? null, column: startColumn === undefined ? null : startColumn + 1 };
}

/**
 * The compiler inside Node, by its public door. It keeps an import used for types alone: authors must write `import type`.
 *
 * @returns {Compiler}
 */
function publicCompiler() {
  /**
   * @param {string} source
   * @param {import('node:module').StripTypeScriptTypesOptions} options
   */
  const run = (source, options) => {
    try {
      return module_.stripTypeScriptTypes(source, options);
    } catch (/** @type {any} */ error) {
      const place = locate(error) ?? {};
      if (error.code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw new Unstrippable(error.message, { cause: place });
      throw new FaultError({ message: error.message, ...place });
    }
  };
  return {
    strip: (source) => run(source, { mode: 'strip', sourceUrl: NAME }),
    transform(source, name) {
      const code = run(source, { mode: 'transform', sourceMap: true, sourceUrl: name });
      const mark = '//# sourceMappingURL=data:application/json;base64,';
      const at = code.lastIndexOf(mark);
      return { code: code.slice(0, at), map: Buffer.from(code.slice(at + mark.length), 'base64').toString() };
    },
    elides: () => false,
  };
}

/**
 * A file made ready, or a {@link FaultError}.
 *
 * @param {Compiler} compiler
 * @param {{ path: string, source: string }} file
 */
function ready(compiler, { path, source }) {
  const kind = /\.([mc]?)([tj])s$/.exec(path);
  const said = kind?.[1] === 'm' ? 'module' : kind?.[1] === 'c' ? 'commonjs' : null;
  const { code, map } = kind?.[2] === 't' ? javascriptOf(compiler, path, source) : { code: source, map: null };
  const format = formatOf(code, map, said);
  if (map === null) return { path, format, source: code === source ? null : code };
  return { path, format, source: `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}` };
}

/**
 * @param {Compiler} compiler
 * @param {string} path
 * @param {string} source
 * @returns {Output}
 */
function javascriptOf(compiler, path, source) {
  try {
    const code = compiler.strip(source);
    if (!compiler.elides(source)) return { code, map: null };
  } catch (error) {
    if (!(error instanceof Unstrippable)) throw error;
  }
  try {
    // The map names its source relative to the file's own URL, so that the gene's folder may move.
    return compiler.transform(source, `./${encodeURIComponent(path.slice(path.lastIndexOf('/') + 1))}`);
  } catch (error) {
    if (!(error instanceof Unstrippable)) throw error;
    throw new FaultError({ message: error.message, .../** @type {Partial<Fault>} */ (error.cause) });
  }
}

/**
 * What a file is, by what its name says, else by whether it compiles as CommonJS. Type stripping lets through what it does
 * not know (decorators), so this is also where the output's syntax is checked.
 *
 * @param {string} code
 * @param {string | null} map
 * @param {'module' | 'commonjs' | null} said
 */
function formatOf(code, map, said) {
  /** @type {Array<['commonjs' | 'module', (code: string) => unknown]>} */
  const formats = [['commonjs', asCommonJs], ['module', asModule]];
  /** @type {Fault[]} */
  const faults = [];
  for (const [format, compile] of formats) {
    if (said !== null && said !== format) continue;
    try {
      compile(code);
      return format;
    } catch (/** @type {any} */ error) {
      faults.push(syntaxFault(error, code, map));
    }
  }
  if (said === 'commonjs' && isModule(code)) faults[0].help = WAY_OUT.commonjs;
  // The reading that got further is the one the author meant.
  throw new FaultError(faults.reduce((first, next) => (isBefore(first, next) ? next : first)));
}

/** @param {string} code */
function asCommonJs(code) {
  return vm.compileFunction(code, ['exports', 'require', 'module', '__filename', '__dirname'], { filename: NAME });
}

/** @param {string} code */
function asModule(code) {
  return new vm.SourceTextModule(code, { identifier: NAME });
}

/** @param {string} code */
function isModule(code) {
  try {
    return Boolean(asModule(code));
  } catch {
    return false;
  }
}

/**
 * @param {Fault} first
 * @param {Fault} next
 */
function isBefore(first, next) {
  if (next.line === null || first.line === null) return first.line === null;
  return first.line < next.line || (first.line === next.line && (first.column ?? 0) <= (next.column ?? 0));
}

/**
 * @param {Error} error
 * @param {string} code
 * @param {string | null} map
 * @returns {Fault}
 */
function syntaxFault(error, code, map) {
  const place = locate(error);
  if (place === null) return { message: error.message, line: null, column: null, help: null };
  const text = code.split(/\r\n|[\n\r\u2028\u2029]/)[place.line - 1] ?? '';
  const at = text.slice(place.column - 1);
  let { message } = error;
  let help = null;
  if (at.startsWith('@')) [message, help] = ['decorators are not JavaScript yet', WAY_OUT.decorator];
  else if (/\baccessor\s+$/.test(text.slice(0, place.column - 1))) help = WAY_OUT.accessor;
  return { message, help, ...originOf(place, map) };
}

/**
 * The place in the author's file of a place in the output.
 *
 * @param {{ line: number, column: number }} place
 * @param {string | null} map
 */
function originOf(place, map) {
  if (map === null) return place;
  const origin = new module_.SourceMap(JSON.parse(map)).findEntry(place.line - 1, place.column - 1);
  return 'originalLine' in origin ? { line: origin.originalLine + 1, column: origin.originalColumn + 1 } : place;
}

/**
 * Where an error of Node's own parsers is, from the lines it writes above the stack.
 *
 * @param {Error} error
 * @returns {{ line: number, column: number } | null}
 */
function locate(error) {
  try {
    // A module's syntax error keeps those lines to itself until it is asked.
    // @ts-expect-error - internal; it exists under --expose-internals
    require('internal/util').decorateErrorStack(error);
  } catch {
    // By the public door only some errors have a place.
  }
  const lines = /^gene:(\d+)\n(?:.*\n)??([ \t]*)\^/.exec(error.stack ?? '');
  return lines && { line: Number(lines[1]), column: lines[2].length + 1 };
}

/**
 * @param {Compiler} compiler
 * @param {{ path: string, source: string }} file
 */
function answerFor(compiler, file) {
  try {
    return ready(compiler, file);
  } catch (/** @type {any} */ error) {
    const fault = error instanceof FaultError ? error.fault : { message: String(error?.message ?? error), line: null, column: null, help: null };
    return { path: file.path, fault };
  }
}

function main() {
  /** @type {{ files: Array<{ path: string, source: string }> }} */
  const request = JSON.parse(readFileSync(0, 'utf8'));
  const compiler = innerCompiler() ?? publicCompiler();
  writeFileSync(1, `${JSON.stringify({ files: request.files.map((file) => answerFor(compiler, file)) })}\n`);
}

if (require.main === module) main();

module.exports = { innerCompiler, publicCompiler, answerFor };

'use strict';
/**
 * Turns a gene's source files into JavaScript that is ready to run (design §4). This process is
 * trusted and only compiles: nothing of the gene is executed here.
 *
 *   fd 3    ends when the request is there, if the argument is `wait`
 *   stdin   {"files": [{"path": "lib/x.ts", "source": "..."}]}
 *   stdout  {"node": "v24.1.0", "files": [{"path": "lib/x.ts", "format": "module", "source": "..."}]}, one line
 *
 * `source` is null where a file runs as it is; a file that cannot run has a `fault` instead. After
 * a file on which the compiler itself broke, the answer ends: the rest is for another process.
 * Run with --expose-internals --experimental-vm-modules --no-warnings.
 */

const { readFileSync, writeFileSync } = require('node:fs');
const nodeModule = require('node:module');
const vm = require('node:vm');

/**
 * @typedef {{ line: number, column: number }} Place counted from 1
 * @typedef {Partial<Place> & { message: string, help?: string }} Problem
 * @typedef {{ [Part in 'line' | 'column']: number | null }} PerhapsPlace
 * @typedef {PerhapsPlace & { message: string, help: string | null }} Fault
 * @typedef {{ code: string, map: string | null }} Output `map` is null where positions are kept
 * @typedef {{ path: string, source: string }} SourceFile
 *
 * @typedef {object} Compiler
 * @property {(source: string) => string} strip removes types and keeps every position; throws an
 *   {@link Unstrippable} where that is not enough
 * @property {(source: string, name: string) => Output} transform does all that can be done
 * @property {(source: string, stripped: string) => boolean} elides whether an import or export is
 *   there for types alone and has to vanish with them, though nothing at its place says `type`
 */

/** What a source is called in Node's messages; no path, so that it is easily found there again. */
const NAME = 'gene';

const MAP_MARK = '//# sourceMappingURL=data:application/json;base64,';

const HELP = {
  crash: 'Simplify what is nested most deeply, or keep JavaScript in place of the TypeScript.',
  decorator:
    'Node cannot run decorators. Call the decorator as a function, or compile the gene with ' +
    'tsc and keep the index.js it makes in place of the TypeScript.',
  accessor: 'Node cannot run `accessor` fields. Write a getter and a setter instead.',
  commonjs:
    'The name of the file says CommonJS. Use require() and module.exports, or another extension.',
};

/** Valid TypeScript that takes more than the removal of types. */
class Unstrippable extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** A file that cannot run, and why. */
class FaultError extends Error {
  /** @param {Problem} problem */
  constructor({ message, line, column, help }) {
    super(message);
    /** @type {Fault} */
    this.fault = { message, line: line ?? null, column: column ?? null, help: help ?? null };
  }
}

/**
 * The compiler that Node carries, by its inner door. Only here can an import used for types alone
 * vanish, as with TypeScript's own compiler (`verbatimModuleSyntax: false`).
 *
 * @returns {Compiler | null} null where this Node has no such door
 */
function innerCompiler() {
  /** @type {(source: string, options: object) => { code: string, map?: string }} */
  let transformSync;
  try {
    // @ts-expect-error - known to Node under --expose-internals
    ({ transformSync } = require('internal/deps/amaro/dist/index'));
    transformSync('enum E { A }', optionsOf('', {}));
  } catch {
    return null;
  }
  /** @param {string} source @param {object} options */
  const run = (source, options) => {
    try {
      return transformSync(source, options);
    } catch (/** @type {any} */ thrown) {
      const { code, message, startLine, startColumn } = Object(thrown);
      if (typeof code !== 'string' || typeof message !== 'string') throw thrown;
      const place = startLine === undefined ? null : { line: startLine, column: startColumn + 1 };
      const problem = problemOf(message, place);
      throw code === 'UnsupportedSyntax' ? new Unstrippable(problem) : new FaultError(problem);
    }
  };
  return {
    strip: (source) => run(source, { mode: 'strip-only', filename: NAME, sourceMap: false }).code,
    transform(source, name) {
      const options = optionsOf(source, { verbatimModuleSyntax: false });
      const { code, map } = run(source, { ...options, filename: name, sourceMap: true });
      return { code, map: map ?? null };
    },
    elides(source, stripped) {
      if (!/\bimport\b|\bexport\s*(?:\{|default\b)/.test(stripped)) return false;
      // The same source, printed twice by the same printer: a difference is what vanished.
      const [kept, elided] = [true, false].map(
        (verbatimModuleSyntax) => run(source, optionsOf(source, { verbatimModuleSyntax })).code,
      );
      return kept !== elided;
    },
  };
}

/** @param {string} source @param {object} transform */
function optionsOf(source, transform) {
  // `export {}` is an author's way to say "a module"; nothing else makes one of a file.
  const noEmptyExport = !/\bexport\s*\{\s*\}/.test(source);
  return {
    mode: 'transform',
    filename: NAME,
    sourceMap: false,
    transform: { nativeClassProperties: true, noEmptyExport, ...transform },
  };
}

/**
 * @param {string} message
 * @param {Place | null} place
 * @returns {Problem}
 */
function problemOf(message, place) {
  // Node before 22.18 draws: "  x Expression expected\n   ,-[3:6]\n 3 | ...".
  const [, text, line, column] = /^ *x (.*)\n *,-\[(\d+):(\d+)\]/.exec(message) ?? [];
  if (text === undefined) return { message, ...place };
  return { message: text, line: Number(line), column: Number(column) };
}

/**
 * The same compiler by Node's public door. An import used for types alone stays, and fails when the
 * gene is linked: authors must write `import type`.
 *
 * @returns {Compiler}
 */
function publicCompiler() {
  /** @param {string} source @param {import('node:module').StripTypeScriptTypesOptions} options */
  const run = (source, options) => {
    try {
      return nodeModule.stripTypeScriptTypes(source, options);
    } catch (/** @type {any} */ error) {
      if (!(error instanceof SyntaxError)) throw error;
      const problem = problemOf(error.message, locate(error));
      throw /** @type {any} */ (error).code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'
        ? new Unstrippable(problem)
        : new FaultError(problem);
    }
  };
  return {
    strip: (source) => run(source, { mode: 'strip' }),
    transform(source, name) {
      let all;
      try {
        all = run(source, { mode: 'transform', sourceUrl: name, sourceMap: true });
      } catch (/** @type {any} */ error) {
        // Node 26 has this mode no more: what stripping has to say of it is said again.
        if (error?.code !== 'ERR_INVALID_ARG_VALUE') throw error;
        return { code: run(source, { mode: 'strip' }), map: null };
      }
      const at = all.lastIndexOf(MAP_MARK);
      const map = Buffer.from(all.slice(at + MAP_MARK.length), 'base64').toString();
      return { code: all.slice(0, at).trimEnd(), map };
    },
    elides: () => false,
  };
}

/**
 * A file made ready; throws a {@link FaultError}.
 *
 * @param {Compiler} compiler
 * @param {SourceFile} file
 */
function ready(compiler, { path, source }) {
  const [, kind, language] = /\.([mc]?)([tj])s$/.exec(path) ?? [];
  const plain = { code: source, map: null };
  const { code, map } = language === 't' ? javascriptOf(compiler, path, source) : plain;
  const format = formatOf(code, map, { m: 'module', c: 'commonjs' }[kind ?? '']);
  if (map === null) return { path, format, source: code === source ? null : code };
  return { path, format, source: `${code}\n${MAP_MARK}${Buffer.from(map).toString('base64')}\n` };
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
    if (!compiler.elides(source, code)) return { code, map: null };
  } catch (error) {
    if (!(error instanceof Unstrippable)) throw error;
  }
  try {
    // The map's source is relative to the file's URL, so that a gene's folder may move.
    const name = path.slice(path.lastIndexOf('/') + 1);
    return compiler.transform(source, `./${encodeURIComponent(name)}`);
  } catch (error) {
    throw error instanceof Unstrippable ? new FaultError(error.problem) : error;
  }
}

/**
 * What a file is: what its name says, else whether it compiles as CommonJS. The removal of types
 * lets pass what it does not know (decorators), so this is where syntax is really checked.
 *
 * @param {string} code
 * @param {string | null} map
 * @param {string | undefined} said
 */
function formatOf(code, map, said) {
  /** @type {FaultError[]} */
  const faults = [];
  for (const [format, compile] of Object.entries({ commonjs: asCommonJs, module: asModule })) {
    if (said !== undefined && said !== format) continue;
    try {
      compile(code);
      return format;
    } catch (/** @type {any} */ error) {
      const place = locate(error, format === 'module' ? code : undefined);
      faults.push(new FaultError(syntaxProblem(error, place, code, map)));
    }
  }
  if (said === 'commonjs' && isModule(code)) faults[0].fault.help = HELP.commonjs;
  // Of two readings, the one that got further is the one the author meant.
  throw faults.reduce((first, next) => (isBefore(first.fault, next.fault) ? next : first));
}

/** @param {string} code */
function asCommonJs(code) {
  const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
  return vm.compileFunction(code, parameters, { filename: NAME });
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

/** @param {Fault} first @param {Fault} next */
function isBefore(first, next) {
  if (first.line === null || next.line === null) return first.line === null;
  if (first.line !== next.line) return first.line < next.line;
  return (first.column ?? 0) < (next.column ?? 0);
}

/**
 * @param {Error} error
 * @param {Place | null} place
 * @param {string} code
 * @param {string | null} map
 * @returns {Problem}
 */
function syntaxProblem({ message }, place, code, map) {
  if (place === null) return { message };
  const line = code.split(/\r\n|[\n\r\u2028\u2029]/)[place.line - 1] ?? '';
  const before = line.slice(0, place.column - 1);
  const origin = originOf(place, map);
  if (line[before.length] === '@') {
    return { message: 'decorators cannot be run', help: HELP.decorator, ...origin };
  }
  if (/\baccessor\s+$/.test(before)) {
    return { message, help: HELP.accessor, ...origin };
  }
  return { message, ...origin };
}

/**
 * The place in the author's file of a place in the output.
 *
 * @param {Place} place
 * @param {string | null} map
 * @returns {Place}
 */
function originOf(place, map) {
  if (map === null) return place;
  const { SourceMap } = nodeModule;
  const entry = new SourceMap(JSON.parse(map)).findEntry(place.line - 1, place.column - 1);
  if (!('originalLine' in entry)) return place;
  return { line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

/**
 * Where an error of Node's own parsers is, from the lines they write above the stack: the name and
 * line, the source (and at times the line before it), the mark.
 *
 * @param {Error} error
 * @param {string} [code] of a module, whose syntax error keeps those lines to itself until asked
 * @returns {Place | null}
 */
function locate(error, code) {
  let text = error.stack ?? '';
  if (code !== undefined) {
    try {
      // @ts-expect-error - known to Node under --expose-internals
      require('internal/util').decorateErrorStack(error);
      text = error.stack ?? '';
    } catch {
      text = checkModule(code);
    }
  }
  const line = /^[^\n]*:(\d+)\n/.exec(text)?.[1];
  if (line === undefined) return null;
  // At the end of a file there is no mark.
  const indent = /^(?:[^\n]*\n){2,3}?([ \t]*)\^+(?:\n|$)/.exec(text)?.[1] ?? '';
  return { line: Number(line), column: indent.length + 1 };
}

/**
 * What `node --check` says of a module: slow, but by the public door there is no other way.
 *
 * @param {string} code
 */
function checkModule(code) {
  const { spawnSync } = require('node:child_process');
  const command = ['--check', '--input-type=module', '-'];
  const options = { input: code, encoding: /** @type {const} */ ('utf8'), timeout: 10_000 };
  return spawnSync(process.execPath, command, options).stderr;
}

/**
 * What became of the files, up to the first on which the compiler broke: what it is after that,
 * nobody knows.
 *
 * @param {Compiler} compiler
 * @param {SourceFile[]} files
 */
function answersFor(compiler, files) {
  const answers = [];
  for (const file of files) {
    try {
      answers.push(ready(compiler, file));
    } catch (error) {
      const message = `Node's compiler failed: ${error}`;
      const isFault = error instanceof FaultError;
      const { fault } = isFault ? error : new FaultError({ message, help: HELP.crash });
      answers.push({ path: file.path, fault });
      if (!isFault) break;
    }
  }
  return answers;
}

function main() {
  // The compiler takes longest. It may be there before anybody knows what is to be compiled.
  const compiler = innerCompiler() ?? publicCompiler();
  if (process.argv[2] === 'wait') readFileSync(3);
  /** @type {{ files: SourceFile[] }} */
  const { files } = JSON.parse(readFileSync(0, 'utf8'));
  const answers = answersFor(compiler, files);
  writeFileSync(1, `${JSON.stringify({ node: process.version, files: answers })}\n`);
}

if (require.main === module) main();

module.exports = { answersFor, innerCompiler, publicCompiler };

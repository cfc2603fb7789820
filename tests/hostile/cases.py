"""The genes that try to get out, or to take the host down, and what must become of each.

An attempt's body is that of a function of ``given`` and ``ctx``: what it gives back (anything but a
false value) is what it got hold of; nothing, or an error, means that it was held. ``given`` has the
places and numbers a real attacker would have to guess. All attempts stand in one gene, one after the
other, but for those that change what the others run on.

``wall`` is the weakest wall that holds it: ``none`` holds with Node's permissions, the limits and
the protocol alone; ``unshare`` needs namespaces; ``bubblewrap`` needs a file system of its own.
Where less stands round it, the gene must get through: docs/security.md names it as open there, and
a row that no longer is must not stay in that list.
"""

from __future__ import annotations

import json
from typing import NamedTuple

__all__ = ["ATTEMPTS", "ENDS", "Attempt", "End", "alone", "attempts_source", "ends_source"]


class Attempt(NamedTuple):
    """A gene that tries to get hold of something."""

    body: str
    wall: str = "none"
    title: str = ""
    """Under which docs/security.md names it, where it can get through."""


class End(NamedTuple):
    """A gene whose run must end by an error."""

    body: str
    message: str
    """A pattern of the error's text."""
    time_limit: float = 20.0

    @property
    def waits(self):
        """Whether most of its run is waiting for its limit, not work."""
        return self.time_limit < 20


_HEAD = """
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const connected = (socket) => new Promise((resolve, reject) => {
  socket.on('connect', () => { socket.destroy(); resolve('connected'); });
  socket.on('error', reject);
  setTimeout(() => { socket.destroy(); reject(new Error('no answer')); }, 1500).unref();
});
"""
_TRIES = """
const tries = { %s };
export async function express(given, ctx) {
  const all = {};
  for (const [name, attempt] of Object.entries(tries)) {
    try {
      all[name] = { got: (await attempt(given, ctx)) || null };
    } catch (error) {
      all[name] = { got: null, held: String(error?.code ?? error).slice(0, 200) };
    }
  }
  return all;
}
"""
_ENDS = """
const ends = { %s };
export const express = (given, ctx) => (given.name === '' ? 'none' : ends[given.name](given, ctx));
"""


def attempts_source(bodies):
    """A gene that makes attempts one after the other, and tells what came of each by its name."""
    tries = (f"{json.dumps(name)}: async (given, ctx) => {{ {body} }}," for name, body in bodies)
    return _HEAD + _TRIES % "\n".join(tries)


def ends_source():
    """A gene that is to be ended, in the way that its input names."""
    ends = (
        f"{json.dumps(name)}: async (given, ctx) => {{ {end.body} }}," for name, end in ENDS.items()
    )
    return _HEAD + _ENDS % "\n".join(ends)


_FILES = {
    "reads /etc/passwd": "return fs.readFileSync('/etc/passwd', 'utf8')",
    "reads /etc/passwd by a promise": "return await fs.promises.readFile('/etc/passwd', 'utf8')",
    "reads /etc/passwd by a stream": "for await (const part of fs.createReadStream('/etc/passwd')) return String(part)",
    "reads /etc/passwd by its bytes": "return fs.readFileSync(Buffer.from('/etc/passwd'), 'utf8')",
    "reads /etc/passwd by a URL": "return fs.readFileSync(new URL('file:///etc/passwd'), 'utf8')",
    "reads /etc/passwd as a blob": "return await (await fs.openAsBlob('/etc/passwd')).text()",
    "imports /etc/passwd": "return await import('/etc/passwd')",
    "requires /etc/passwd": "return require('/etc/passwd')",
    "reads /etc/passwd through '..'": "return fs.readFileSync(given.own + '/../../../../../../../../../../../etc/passwd', 'utf8')",
    "reads /etc/passwd through '..' in bytes": "return fs.readFileSync(Buffer.from(given.own + '/../../../../../../../../../../../etc/passwd'), 'utf8')",
    "reads /etc/passwd with a changed Buffer": (
        "Buffer.prototype.utf8Write = ((write) => function (text, ...more) { return write.call(this, String(text).replace(given.own, ''), ...more); })(Buffer.prototype.utf8Write);"
        "return fs.readFileSync(Buffer.from(given.own + '/etc/passwd'), 'utf8')"
    ),
    "reads /etc/passwd with a changed path module": (
        "const path = require('node:path'); for (const name of ['resolve', 'toNamespacedPath', 'normalize']) path[name] = path.posix[name] = () => given.own + '/data.txt';"
        "return fs.readFileSync('/etc/passwd', 'utf8')"
    ),
    "reads through a link of its own folder": "return fs.readFileSync(given.own + '/link', 'utf8').includes('root') && 'root'",
    "reads through a link of a package of its own": "return fs.readFileSync(given.own + '/node_modules/out/passwd', 'utf8')",
    "reads through '..' behind a link of a package of its own": "return fs.readFileSync(given.own + '/node_modules/' + 'a/'.repeat(30) + 'up' + '/..'.repeat(30) + '/etc/passwd', 'utf8')",
    "takes /etc/passwd for its environment": "process.loadEnvFile('/etc/passwd'); return 'loaded'",
    "lists /etc": "return fs.readdirSync('/etc')",
    "lists / by a pattern": "const found = fs.globSync('/etc/*'); return found.length > 0 && found",
    "sees that a file is there": "return fs.existsSync('/etc/passwd')",
    "asks what a file is": "return fs.statSync('/etc/passwd').size + 1",
    "watches /etc": "fs.watch('/etc').close(); return 'watched'",
    "resolves a path": "return fs.realpathSync.native('/etc/passwd')",
    "reads the project's database": "return fs.readFileSync(given.database).length",
    "opens the project's database": "const { DatabaseSync } = require('node:sqlite'); return new DatabaseSync(given.database, { readOnly: true }).prepare('select count(*) from sqlite_master').get()",
    "opens the project's database by another door": "const { DatabaseSync } = process.getBuiltinModule('node:sqlite'); return new DatabaseSync(given.database, { readOnly: true }) && 'opened'",
    "goes to another folder": "process.chdir('/etc'); return process.cwd()",
    "reads the agents' records": "return fs.readdirSync(given.agents)",
    "reads another gene's folder": "return fs.readFileSync(given.other + '/index.ts', 'utf8')",
    "imports another gene": "return Object.keys(await import(given.other + '/index.ts'))",
    "lists the folder of the genes": "return fs.readdirSync(given.own + '/..')",
    "reads the supervisor's environment": "return fs.readFileSync(`/proc/${given.supervisor}/environ`, 'utf8')",
    "reads its own environment's file": "return fs.readFileSync('/proc/self/environ', 'utf8')",
    "finds a secret in its environment": "return JSON.stringify(process.env).includes('hostile-secret') && process.env",
    "finds a secret in a report": "return JSON.stringify(process.report.getReport()).includes('hostile-secret')",
    "lists its descriptors' files": "return fs.readdirSync('/proc/self/fd')",
}

_WRITES = {
    "writes to /tmp": "fs.writeFileSync('/tmp/hostile-was-here', 'x'); return 'written'",
    "writes to its own folder": "fs.writeFileSync(given.own + '/written', 'x'); return 'written'",
    "replaces its own code": "fs.writeFileSync(given.own + '/index.mjs', 'x'); return 'written'",
    "writes to the shim": "fs.appendFileSync(given.shim + '/worker.cjs', ' '); return 'written'",
    "makes a folder": "return fs.mkdtempSync(os.tmpdir() + '/hostile-')",
    "makes a link": "fs.symlinkSync('/etc/passwd', given.own + '/made'); return 'linked'",
    "renames": "fs.renameSync(given.own + '/data.txt', given.own + '/gone.txt'); return 'renamed'",
    "deletes": "fs.rmSync(given.own + '/data.txt'); return 'deleted'",
    "changes a mode by a descriptor": "fs.fchmodSync(fs.openSync(given.own + '/data.txt'), 0o777); return 'changed'",
    "changes the mode of its standard input": "fs.fchmodSync(0, 0); return 'changed'",
    "changes times": "fs.utimesSync(given.own + '/data.txt', 1, 1); return 'changed'",
    "changes times by a descriptor": "fs.futimesSync(fs.openSync(given.own + '/data.txt'), 1, 1); return 'changed'",
    "copies a folder to its own": "fs.cpSync('/etc', given.own + '/etc', { recursive: true }); return 'copied'",
    "changes a mode": "fs.chmodSync(given.own + '/data.txt', 0o777); return 'changed'",
    "makes a database": "const { DatabaseSync } = require('node:sqlite'); new DatabaseSync('/tmp/hostile-was-here').exec('create table t(a)'); return 'made'",
    "writes a snapshot of its heap": "return require('node:v8').writeHeapSnapshot('/tmp/hostile-was-here')",
    "writes a trace": "require('node:trace_events').createTracing({ categories: ['node'] }).enable(); return 'enabled'",
    "keeps compiled code": "return require('node:module').enableCompileCache('/tmp/hostile-was-here').status === 1",
    "writes a report": "return process.report.writeReport('/tmp/hostile-was-here')",
    "poisons the cache of sources": "for (const name of fs.readdirSync(given.cache)) fs.writeFileSync(given.cache + '/' + name, 'x'); return 'written'",
    "writes the audit log": "fs.appendFileSync(given.audit, '{}\\n'); return 'written'",
}

_PROCESSES = {
    "starts a shell": "return String(require('node:child_process').execSync('id'))",
    "starts a process": "return require('node:child_process').spawnSync('/bin/true').status === 0",
    "forks": "return require('node:child_process').fork(given.own + '/index.mjs').pid",
    "forks again and again": "for (let i = 0; i < 1000; i++) { try { return require('node:child_process').spawn(process.execPath).pid; } catch {} } return false",
    "becomes another program": "process.execve('/bin/true', ['true'], {}); return 'became'",
    "starts a thread": "const { Worker } = require('node:worker_threads'); new Worker('0', { eval: true }); return 'started'",
    "starts the thread of module hooks": "require('node:module').register('data:text/javascript,'); return 'started'",
    "starts a cluster": "return require('node:cluster').fork().id",
    "loads an addon": "process.dlopen({ exports: {} }, given.addon); return 'loaded'",
    "requires an addon": "return require(given.addon)",
    "takes a binding": "return Object.keys(process.binding('spawn_sync'))",
    "takes a harmless binding": "return Object.keys(process.binding('fs'))",
    "requires what is internal": "return require('internal/bootstrap/realm')",
    "loads an engine": "require('node:crypto').setEngine(given.addon); return 'loaded'",
    "opens an inspector": "const inspector = require('node:inspector'); inspector.open(0, '127.0.0.1'); return inspector.url()",
    "inspects itself": "const inspector = require('node:inspector'); const session = new inspector.Session(); session.connect(); return await new Promise((resolve) => session.post('Runtime.evaluate', { expression: '1' }, (error, done) => resolve(error ? null : done)))",
    "runs WASI over the root": "const { WASI } = require('node:wasi'); return new WASI({ version: 'preview1', preopens: { '/': '/' } }) && 'opened'",
    "becomes root": "process.setuid(0); process.setgid(0); return given.uid !== 0 && 'became'",
    "grants itself more": "return process.permission.has('fs.write') || process.permission.has('child')",
}

_NETWORK = {
    "connects to this machine": Attempt(
        "return await connected(net.connect(given.port, '127.0.0.1'))", "unshare", "TCP"
    ),
    "fetches from this machine": Attempt(
        "return (await fetch(`http://127.0.0.1:${given.port}/`)).status", "unshare", "fetch"
    ),
    "sends a datagram": Attempt(
        "const socket = require('node:dgram').createSocket('udp4'); const answer = new Promise((resolve) => { socket.on('message', () => resolve('answered')); socket.on('error', () => resolve()); setTimeout(resolve, 500); }); socket.send('hostile', given.udp, '127.0.0.1'); const got = await answer; socket.close(); return got",
        "unshare",
        "UDP",
    ),
    "asks a name server": Attempt(
        "const { Resolver } = require('node:dns').promises; const resolver = new Resolver({ timeout: 500, tries: 1 }); resolver.setServers([`127.0.0.1:${given.udp}`]); return await resolver.resolve4('hostile.example').catch((error) => error.code === 'ENOTFOUND' && 'answered')",
        "unshare",
        "DNS",
    ),
    "connects to an abstract socket": Attempt(
        "return await connected(net.connect('\\0' + given.abstract))",
        "unshare",
        "abstract Unix sockets",
    ),
    "connects to a Unix socket": Attempt(
        "return await connected(net.connect(given.unix))",
        "bubblewrap",
        "Unix sockets in the file system",
    ),
    "makes a Unix socket": Attempt(
        "return await new Promise((resolve, reject) => { const server = net.createServer().on('error', reject).listen('/tmp/hostile-was-here', () => { server.close(); resolve('made'); }); })",
        "bubblewrap",
        "Unix sockets in the file system",
    ),
}

_SIGNALS = {
    "signals the supervisor": Attempt(
        "return process.kill(given.supervisor, 0)", "unshare", "signals"
    ),
    "signals whoever it can": Attempt("return process.kill(-1, 0)", "unshare", "signals"),
    "signals another worker": Attempt(
        "return process.kill(given.worker, 0)", "unshare", "signals to other workers"
    ),
    "asks the supervisor for a debugger": Attempt(
        "process._debugProcess(given.supervisor); return 'asked'", "unshare", "signals"
    ),
    "sees its parent": Attempt(
        "return process.ppid === given.supervisor", "unshare", "the supervisor's process id"
    ),
    "lowers the supervisor's priority": Attempt(
        "os.setPriority(given.supervisor, os.getPriority(given.supervisor)); return 'set'",
        "unshare",
        "priorities",
    ),
}

_DESCRIPTORS = {
    "finds other descriptors": "const found = []; for (let fd = 5; fd < 256; fd++) { try { const is = fs.fstatSync(fd); if (is.isFile() || is.isSocket() || is.isDirectory()) found.push(fd); } catch {} } return found.length > 0 && found",
    "reads more from its standard input": "return fs.readFileSync(0, 'utf8').length > 0",
    "takes a descriptor for a terminal": "return require('node:tty').isatty(0) || require('node:tty').isatty(2)",
}

_IDENTITY = {
    "claims another identity": (
        "const entry = ctx.memory.writeMemory('mine', new Uint8Array(1), 'CACHE'); const write = JSON.stringify;"
        "JSON.stringify = (value, ...more) => write(value && value.op ? { ...value, gene: 'v2:' + '0'.repeat(64), createdBy: 'v2:' + '0'.repeat(64) } : value, ...more);"
        "const again = ctx.memory.writeMemory('mine', new Uint8Array(2), 'CACHE'); JSON.stringify = write;"
        "return again.createdBy !== entry.createdBy || again.lastAccessedBy !== entry.createdBy"
    ),
    "reads what another gene keeps for itself": "return ctx.memory.readMemory('private')",
    "changes what another gene keeps for itself": "ctx.memory.writeMemory('private', new Uint8Array(1), 'CACHE'); return 'written'",
    "deletes what another gene keeps for itself": "ctx.memory.deleteMemory('private'); return 'deleted'",
    "opens another gene's entry by a policy": "ctx.memory.writeMemory('private', new Uint8Array(1), 'CACHE', { readScope: 'ALL_GENES', writeScope: 'ALL_GENES', sharePolicy: 'PRIVATE' }); return 'opened'",
    "is asked by a changed Object": "Object.defineProperty(Object.prototype, 'run', { get: () => 0, configurable: true }); try { return ctx.memory.readMemory('private'); } finally { delete Object.prototype.run; }",
    "changes what the shim runs on": (
        "const { readSync, writeSync } = fs; const seen = []; fs.writeSync = (...all) => { seen.push('write'); return writeSync(...all); }; fs.readSync = (...all) => { seen.push('read'); return readSync(...all); };"
        "ctx.memory.queryMemory(); fs.writeSync = writeSync; fs.readSync = readSync; return seen.length > 0 && seen"
    ),
}


_ALONE = (
    "finds other descriptors",
    "a changed Buffer",
    "a changed path",
    "changed Object",
    "another identity",
    "shim runs on",
)


def alone(name):
    """Whether an attempt changes what others run on, and so has a process to itself."""
    return any(words in name for words in _ALONE)


def _attempts(*tables):
    found = {}
    for table in tables:
        for name, case in table.items():
            found[name] = Attempt(case) if isinstance(case, str) else case
    return found


ATTEMPTS = _attempts(_FILES, _WRITES, _PROCESSES, _NETWORK, _SIGNALS, _DESCRIPTORS, _IDENTITY)
_FRAME = (
    "const frame = (id, payload, size = 4 + payload.length) => { const head = Buffer.alloc(12);"
    "head.writeBigUInt64BE(BigInt(size)); head.writeUInt32BE(id >>> 0, 8); return Buffer.concat([head, payload]); };"
    "const all = (bytes) => { for (let at = 0; at < bytes.length; ) at += fs.writeSync(3, bytes, at); };"
)
_DONE = 'Buffer.from(\'{"op":"done","run":1}\\n{}\')'

ENDS = {
    "frames of wrong ids": End(f"{_FRAME} all(frame(5, {_DONE})); for (;;);", "did not answer|broke the protocol|channel", 2),
    "a frame of a huge length": End(f"{_FRAME} all(frame(0x80000001, Buffer.alloc(8), 2 ** 53 - 1)); for (;;);", "did not answer|channel|protocol", 2),
    "a frame of a negative length": End(f"{_FRAME} const head = Buffer.alloc(12, 255); all(head); for (;;);", "did not answer|channel|protocol", 2),
    "half a frame": End(f"{_FRAME} all(frame(0x80000001, {_DONE}).subarray(0, 20)); for (;;);", "did not answer", 1),
    "a flood of frames": End(f"{_FRAME} const one = frame(0x80000001, Buffer.from('{{\"op\":\"read\",\"run\":1,\"key\":\"k\"}}\\n')); for (;;) fs.writeSync(3, one);", "did not answer|channel|protocol", 2),
    "a flood of results": End(f"{_FRAME} const one = frame(0x80000001, {_DONE}.subarray(0, 21)); for (;;) fs.writeSync(3, one);", "not JSON|did not answer|channel|protocol", 2),
    "an answer that was not asked for": End("fs.writeSync(3, Buffer.from([0, 0x53, 0x50, 0, 0, 0x31, 0, 0])); for (;;);", "did not answer|channel|protocol", 2),
    "takes the supervisor's answers": End("ctx.memory.queryMemory(); const room = Buffer.alloc(64); setInterval(() => {}, 1e6); fs.readSync(3, room); return 1", "did not answer", 1),
    "closes its channel": End("fs.closeSync(3); for (;;);", "did not answer|ended|channel|killed", 2),
    "loops": End("for (;;);", "did not answer within", 1),
    "loops in promises": End("const again = () => Promise.resolve().then(again); await again();", "did not answer within", 1),
    "waits for ever": End("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "did not answer within", 1),
    "loops in WebAssembly": End("new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11]))).exports.f()", "did not answer within", 1),
    "matches a pattern for ever": End("return /^(a+)+$/.test('a'.repeat(50) + 'b')", "did not answer within", 1),
    "loops while it ends": End("process.on('exit', () => { for (;;); }); process.exit(0)", "called process.exit|did not answer", 2),
    "ignores every signal": End("for (const name of Object.keys(os.constants.signals)) { try { process.on(name, () => {}); } catch {} } for (;;);", "did not answer within", 1),
    "stops itself": End("process.kill(0, 'SIGSTOP'); for (;;);", "did not answer|killed|ended", 2),
    "fills its heap": End("const all = []; for (;;) all.push(new Array(1e6).fill(1.5))", "ran out of memory|killed|exit code"),
    "fills its buffers": End("const all = []; for (;;) all.push(new Uint8Array(2 ** 26).fill(1))", "Array buffer allocation failed|ran out of memory|killed|exit code"),
    "fills WebAssembly memories": End("const all = []; for (;;) { all.push(new WebAssembly.Memory({ initial: 1024 })); new Uint8Array(all.at(-1).buffer).fill(1); }", "could not allocate|ran out of memory|killed|exit code"),
    "fills shared buffers": End("const all = []; for (;;) all.push(new Uint8Array(new SharedArrayBuffer(2 ** 26)).fill(1))", "allocation failed|ran out of memory|killed|exit code"),
    "floods its logs": End("for (;;) console.log('x'.repeat(1e5))", "did not answer", 2),
    "floods its errors": End("const line = Buffer.alloc(1e6, 120); for (;;) fs.writeSync(2, line)", "did not answer", 2),
    "floods what it keeps": End("for (let i = 0; ; i++) ctx.memory.writeMemory('k' + i, new Uint8Array(1e6), 'PREFERENCE')", "MEMORY_QUOTA_EXCEEDED"),
    "floods timers": End("const more = () => { setTimeout(more); setTimeout(more); }; more(); await new Promise(() => {})", "did not answer|ran out of memory", 2),
    "takes the bounds off WebAssembly's memory": End("require('node:v8').setFlagsFromString('--no-wasm-bounds-checks'); for (;;);", "killed by SIG(TRAP|ILL|ABRT)"),
    "lets itself call V8's inside": End("require('node:v8').setFlagsFromString('--allow-natives-syntax'); return require('node:vm').runInThisContext('%GetOptimizationStatus(() => 1)')", "killed by SIG(TRAP|ILL|ABRT)"),
    "fills its heap, its limit raised": End("require('node:v8').setFlagsFromString('--max-old-space-size=64000'); const all = []; for (;;) all.push(new Array(1e6).fill(1.5))", "ran out of memory|killed|exit code"),
    "gives back 1 GB": End("return ['x'.repeat(2 ** 29 - 30), 'x'.repeat(2 ** 29 - 30)]", "returned|too large|JSON|limit|ran out of memory"),
    "gives back 100 MB": End("return 'x'.repeat(1e8)", "the limit is"),
    "gives back millions of lists": End("return Array.from({ length: 1e6 + 1 }, () => [])", "more values and names of fields than can be read: the limit is 1,000,000"),
    "gives back millions of fields": End("const all = {}; for (let i = 0; i <= 8e5; i++) all[i] = null; return all", "more values and names of fields than can be read: the limit is 1,000,000"),
    "gives back deep JSON": End("let deep = []; for (let i = 0; i < 1e6; i++) deep = [deep]; return deep", "JSON"),
    "gives back deeper JSON than Python reads": End("return JSON.rawJSON ? Object.assign([], { toJSON: () => { let deep = []; for (let i = 0; i < 3e3; i++) deep = [deep]; return deep; } }) : null", "JSON|nested"),
}  # fmt: skip
"""By name; run in a gene whose errors are not caught."""

"""Ten shapes of gene that people write, each with a suite: what a test of them should find."""

from __future__ import annotations

from typing import Any, NamedTuple

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
REFUSE = 'if (typeof input.text !== "string") return { __rotifer_error: { message: "no text" } };'
BAD = {"input": {"text": 5}}


class Shape(NamedTuple):
    """One gene, its suite, and whether its test passes."""

    files: dict[str, str]
    suite: dict[str, Any]
    fields: dict[str, Any]
    passes: bool = True


def suite(*cases, **config):
    """A suite of these cases."""
    return {"testCases": list(cases), **({"config": config} if config else {})}


SHAPES = {
    "text-analysis": Shape(
        {
            "index.ts": f"""
interface Counts {{ words: number; sentences: number }}
export function express(input: {{ text: string }}): Counts | object {{
  {REFUSE}
  const words = input.text.match(/\\p{{Letter}}+/gu) ?? [];
  return {{ words: words.length, sentences: input.text.split(/[.!?]+\\s*/).filter(Boolean).length }};
}}
"""
        },
        suite(
            {"input": {"text": "One two. Three!"}, "expectedOutput": {"words": 3, "sentences": 2}},
            BAD,
        ),
        {
            "inputSchema": TEXT,
            "outputSchema": {"type": "object", "required": ["words", "sentences"]},
        },
    ),
    "json-validator": Shape(
        {
            "index.ts": f"""
export function express(input: {{ text: string }}) {{
  {REFUSE}
  try {{ JSON.parse(input.text); return {{ valid: true }}; }}
  catch (error) {{ return {{ valid: false, error: (error as Error).name }}; }}
}}
"""
        },
        suite(
            {"input": {"text": "[1]"}, "expectedOutput": {"valid": True}},
            {"input": {"text": "["}, "expectedOutput": {"error": "SyntaxError", "valid": False}},
            BAD,
        ),
        {
            "inputSchema": TEXT,
            "outputSchema": {"type": "object", "properties": {"valid": {"type": "boolean"}}},
        },
    ),
    "formatter": Shape(
        {
            "index.ts": "export const express = ({ value, indent = 2 }: any) => "
            "indent > 8 ? { __rotifer_error: { message: 'too wide' } } "
            ": { text: JSON.stringify(value ?? null, null, indent) };\n"
        },
        suite(
            {
                "input": {"value": {"a": 1}, "indent": 1},
                "expectedOutput": {"text": '{\n "a": 1\n}'},
            },
            {"input": {"indent": 9}},
        ),
        {
            "inputSchema": {
                "type": "object",
                "properties": {
                    "value": {},
                    "indent": {"type": "integer", "minimum": 0, "maximum": 8},
                },
            },
            "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        },
    ),
    "summarizer": Shape(
        {
            "index.ts": """
export default function summarize({ text, sentences }: { text: string; sentences: number }) {
  if (!(sentences > 0)) return { __rotifer_error: { message: "sentences" } };
  return { summary: (text.match(/[^.]+\\.?/g) ?? []).slice(0, sentences).join("").trim() };
}
"""
        },
        suite(
            {"input": {"text": "A. B. C.", "sentences": 2}, "expectedOutput": {"summary": "A. B."}},
            {"input": {"text": "A.", "sentences": 0}},
        ),
        {
            "inputSchema": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "sentences": {"type": "integer", "minimum": 1, "default": 1},
                },
                "required": ["text", "sentences"],
            },
        },
    ),
    "url-extractor": Shape(
        {
            "index.js": f"""
module.exports.express = (input) => {{
  {REFUSE}
  return {{ urls: [...input.text.matchAll(/https?:\\/\\/[^\\s"]+/g)].map((m) => new URL(m[0]).href) }};
}};
"""
        },
        suite(
            {
                "input": {"text": "see http://a.example/x?y=1 and https://b.example"},
                "expectedOutput": {"urls": ["http://a.example/x?y=1", "https://b.example/"]},
            },
            BAD,
        ),
        {
            "inputSchema": TEXT,
            "outputSchema": {
                "properties": {"urls": {"type": "array", "items": {"type": "string"}}}
            },
        },
    ),
    "async-digest": Shape(
        {
            "index.ts": f"""
import {{ createHash }} from "node:crypto";
export async function express(input: {{ text: string }}) {{
  {REFUSE}
  await new Promise((resolve) => setTimeout(resolve, 1));
  return {{ sha256: createHash("sha256").update(input.text).digest("hex") }};
}}
"""
        },
        suite(
            {
                "input": {"text": ""},
                "expectedSchema": {"properties": {"sha256": {"pattern": "^e3b0c442"}}},
            },
            BAD,
        ),
        {"inputSchema": TEXT},
    ),
    "several-files": Shape(
        {
            "index.ts": """
import names from "./data/names.json";
import { greet } from "./lib";
export const express = (input: { name?: unknown }) =>
  typeof (input.name ?? "") === "string" ? { text: greet(String(input.name ?? names[0])) }
  : { __rotifer_error: "name" };
""",
            "lib/index.ts": "export const greet = (name: string): string => `Hello, ${name}!`;\n",
            "data/names.json": '["Ada"]',
        },
        suite(
            {"input": {}, "expectedOutput": {"text": "Hello, Ada!"}},
            {"input": {"name": 1}},
            fuzzIterations=3,
        ),
        {"inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    ),
    "with-enum": Shape(
        {
            "index.ts": """
enum Unit { C = "C", F = "F" }
namespace Convert { export const toF = (c: number) => c * 1.8 + 32; }
export function express({ value, unit }: { value: number; unit: Unit }) {
  if (unit !== Unit.C && unit !== Unit.F) return { __rotifer_error: "unit" };
  return { value: unit === Unit.C ? Convert.toF(value) : (value - 32) / 1.8 };
}
"""
        },
        suite(
            {"input": {"value": 100, "unit": "C"}, "expectedOutput": {"value": 212.0}},
            {"input": {"value": 100, "unit": "K"}},
        ),
        {
            "inputSchema": {
                "type": "object",
                "properties": {"value": {"type": "number"}, "unit": {"enum": ["C", "F"]}},
                "required": ["value", "unit"],
            },
            "outputSchema": {"type": "object", "properties": {"value": {"type": "number"}}},
        },
    ),
    "npm-user": Shape(
        {
            "index.ts": 'import { shout } from "shout";\nexport const express = (i: any) => typeof i.text === "string" ? { text: shout(i.text) } : { __rotifer_error: 1 };\n'
        },
        suite({"input": {"text": "a"}, "expectedOutput": {"text": "A!"}}, BAD),
        {"inputSchema": TEXT},
    ),
    "thrower": Shape(
        {"index.ts": "export function express(): never {\n  throw new Error('always');\n}\n"},
        suite({"input": {"text": "a"}}, BAD),
        {"inputSchema": TEXT},
        passes=False,
    ),
}


def make(bench):
    """Put all of them into a project."""
    bench.put("node_modules/shout/package.json", {"name": "shout", "version": "1.0.0"})
    bench.put(
        "node_modules/shout/index.js", "exports.shout = (text) => text.toUpperCase() + '!';\n"
    )
    for name, shape in SHAPES.items():
        bench.gene(name, {**shape.files, "testsuite.json": shape.suite}, **shape.fields)

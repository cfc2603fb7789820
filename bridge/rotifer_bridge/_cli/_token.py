"""``rotifer token create``, ``list`` and ``revoke``: who may ask what of the HTTP service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rotifer_bridge._cli._file_name import FILE_NAME
from rotifer_bridge._cli._output import OutputError, flush, need_stdout, note, say, warn
from rotifer_bridge._names import check_domain, shown
from rotifer_bridge.errors import RotiferError, UsageError
from rotifer_engine.layers import LIMITS
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_bridge._project import Project
    from rotifer_bridge._tokens import Token, TokenFile

__all__ = ["create_command", "list_command", "opened_tokens", "revoke_command"]

_FILE_HELP = "The tokens file to use.  [default: the project's .rotifer/tokens.json]"
ACTOR_LIMIT = LIMITS["actor"]
_WHOSE = "--actor, --gene, --deployer and --admin"


def opened_tokens(project: Project, token_file: str | None) -> TokenFile:
    """The tokens file that was named, or the project's."""
    import os

    from rotifer_bridge._tokens import TOKENS_NAME, TokenFile

    if token_file is None:
        project.make_state_dirs()
        return TokenFile(os.path.join(project.state_dir, TOKENS_NAME))
    folder = os.path.dirname(os.path.abspath(token_file))
    if not os.path.isdir(folder):
        raise UsageError(
            f"--token-file: there is no folder {shown(folder)}", help="make the folder first"
        )
    return TokenFile(token_file)


def _create(
    *,
    actor: str | None,
    gene: str | None,
    agent: str | None,
    domain: str | None,
    deployer: bool,
    admin: bool,
    expires: str | None,
    token_file: str | None,
) -> None:
    from rotifer_bridge._project import Project
    from rotifer_bridge._tokens import parse_lifetime
    from rotifer_engine import SystemClock

    lifetime = None if expires is None else parse_lifetime(expires)
    kind = _kind(actor=actor, gene=gene, deployer=deployer, admin=admin)
    if (domain is not None and kind != "gene") or (agent and kind in {"deployer", "admin"}):
        raise UsageError(
            "--domain belongs to --gene, and --agent to --gene or --actor",
            help=f"leave it out of a token of the kind {kind}",
        )
    need_stdout("the token")
    project = Project.find()
    bound: dict[str, str | None] = {}
    if kind == "actor":
        bound = {"actor": _check_actor(actor), "inside": _check_inside(agent)}
    elif kind == "gene":
        bound = _bound_gene(project, gene or "", agent, domain)
    tokens = opened_tokens(project, token_file)
    token, text = tokens.create(kind, bound, now_ms=SystemClock().now_ms(), lifetime_ms=lifetime)
    try:
        say(text)
        flush()
    except (BrokenPipeError, OutputError) as error:
        # Nobody can have it, or somebody a part of it: it is good for nothing.
        why = error if isinstance(error, OSError) else error.error
        raise OutputError(why, _taken_back(tokens, token)) from None
    note(f"token {token.id} {_whose(token)}, {_until(token)}")
    note("it is shown this once: only its hash is kept")


def _taken_back(tokens: TokenFile, token: Token) -> str:
    """Revoke a token that could not be shown; what became of it."""
    try:
        tokens.revoke(token.id)
    except (RotiferError, OSError) as error:
        return (
            f"the token {token.id} is good and could not be revoked ({error}): "
            f"rotifer token revoke {token.id}"
        )
    return f"the token {token.id} was revoked"


def _kind(*, actor: str | None, gene: str | None, deployer: bool, admin: bool) -> str:
    given = {"actor": actor is not None, "gene": gene is not None}
    given.update(deployer=deployer, admin=admin)
    kinds = [kind for kind, chosen in given.items() if chosen]
    if len(kinds) != 1:
        raise UsageError(
            f"give exactly one of {_WHOSE}",
            help="for example: rotifer token create --actor alice --expires 30d",
        )
    return kinds[0]


def _check_actor(actor: str | None) -> str:
    """An actor's name, as it may stand in a URL and on a line."""
    if (
        actor
        and actor.isprintable()
        and actor.strip() == actor
        and len(actor.encode("utf-8", "replace")) <= ACTOR_LIMIT
    ):
        return actor
    raise UsageError(
        f"{shown(actor)} is not an actor's name",
        help=f"use 1 to {ACTOR_LIMIT} bytes of printable text, without a space at an end",
    )


def _check_inside(agent: str | None) -> str | None:
    """The agent inside which an actor works, as namespaces name it (layers §5)."""
    if agent is None:
        return None
    name = agent.removeprefix("agent-")
    if name and name != agent and "/" not in name and len(agent) <= ACTOR_LIMIT:
        return agent
    raise UsageError(
        f"--agent: {shown(agent)} is not the agent of a namespace",
        help="it is agent-NAME, and opens the namespaces agent://NAME/...: agent-legal",
    )


def _bound_gene(
    project: Project, gene: str, agent: str | None, domain: str | None
) -> dict[str, str | None]:
    """What a gene's token is bound to: the agent by its id, because names can be given anew."""
    from rotifer_engine import is_v2_id

    if not is_v2_id(gene):
        raise UsageError(
            f"{shown(gene)} is not a gene's v2 identity",
            help="it is v2: and 64 lower-case hex digits; 'rotifer info GENE' shows it",
        )
    if agent is None:
        raise UsageError("--gene needs --agent", help="name the agent whose memory it is about")
    record = project.record(agent)
    if domain is None:
        domain = _domain_of(project, gene)
        if domain is None:
            warn(
                "no gene of the project has this identity now, so the token has no domain: "
                "entries of scope SAME_DOMAIN are closed to it (say which with --domain)"
            )
    else:
        check_domain(domain)
    return {"gene": gene, "agentId": record.id, "agent": record.name, "domain": domain}


def _domain_of(project: Project, identity: str) -> str | None:
    from rotifer_bridge._gene import load_gene

    for name in project.gene_names():
        try:
            gene = load_gene(project, name)
        except RotiferError:
            continue
        if gene.v2_id == identity:
            return gene.domain
    return None


def _list(as_json: bool, token_file: str | None) -> None:
    from rotifer_bridge._project import Project
    from rotifer_engine import SystemClock, format_time

    tokens = list(opened_tokens(Project.find(), token_file).tokens().values())
    now = SystemClock().now_ms()
    if as_json:
        listed = [{**token.to_json(), "expired": _is_over(token, now)} for token in tokens]
        say(dumps({"tokens": listed}))
        return
    if not tokens:
        note("no tokens yet; make one: rotifer token create --actor NAME")
        return
    from rotifer_bridge._text import table

    rows = [
        [
            token.id,
            _whose(token),
            format_time(token.created_at),
            "expired" if _is_over(token, now) else _expiry(token),
        ]
        for token in tokens
    ]
    say(table(["ID", "Whose", "Created", "Expires"], rows))


def _revoke(token_id: str, token_file: str | None) -> None:
    from rotifer_bridge._project import Project

    token = opened_tokens(Project.find(), token_file).revoke(token_id)
    say(f"Token {token.id} {_whose(token)} revoked")


def _is_over(token: Token, now: int) -> bool:
    return token.expires_at is not None and now >= token.expires_at


def _expiry(token: Token) -> str:
    from rotifer_engine import format_time

    return "never" if token.expires_at is None else format_time(token.expires_at)


def _until(token: Token) -> str:
    return "good until revoked" if token.expires_at is None else f"good until {_expiry(token)}"


def _whose(token: Token) -> str:
    from rotifer_bridge._known_genes import short_identity

    bound = token.bound
    if token.kind == "actor":
        inside = f" inside {shown(bound['inside'])}" if bound["inside"] else ""
        return f"of the actor {shown(bound['actor'])}{inside}"
    if token.kind == "gene":
        domain = f" (domain {bound['domain']})" if bound["domain"] else ""
        gene = short_identity(bound["gene"] or "")
        return f"of the gene {gene}{domain} in agent {shown(bound['agent'])}"
    return "of the deployer" if token.kind == "deployer" else "of the administrator"


def _option(*names: str, **settings: Any) -> click.Option:
    return click.Option([*names], **settings)


_TOKEN_FILE = _option("--token-file", type=FILE_NAME, metavar="FILE", help=_FILE_HELP)

create_command = click.Command(
    "create",
    callback=_create,
    help=(
        "Make a token for the HTTP service and print it, alone on stdout, this once.\n\n"
        f"It is for exactly one of {_WHOSE}; docs/http.md has what each may do. Only its hash is "
        "kept."
    ),
    short_help="Make a token for the HTTP service.",
    params=[
        _option("--actor", metavar="NAME", help="Of this actor: its own memory layers."),
        _option("--gene", metavar="ID", help="Of the gene with this v2 identity, in --agent."),
        _option(
            "--agent", metavar="AGENT", help="With --gene: the agent whose memory it is. With "
            "--actor: agent-NAME, the agent inside which the actor works."
        ),
        _option(
            "--domain", help="With --gene: its domain.  [default: the project's gene's]"
        ),
        _option("--deployer", is_flag=True, help="Of the deployer: agents, their memory, runs."),
        _option("--admin", is_flag=True, help="Of the administrator: the layer consensus."),
        _option(
            "--expires", metavar="TIME", help="How long it is good: 30d, 12h, 90m or 45s.  "
            "[default: until it is revoked]"
        ),
        _TOKEN_FILE,
    ],
)  # fmt: skip

list_command = click.Command(
    "list",
    callback=_list,
    help="List the tokens: id, whose, when made, how long good. Never the tokens themselves.",
    short_help="List the tokens of the HTTP service.",
    params=[
        _option("--json", "as_json", is_flag=True, help='Print {"tokens": [...]}.'),
        _TOKEN_FILE,
    ],
)

revoke_command = click.Command(
    "revoke",
    callback=_revoke,
    help="Revoke a token by its id. A service that is running refuses it from its next request on.",
    short_help="Revoke a token of the HTTP service.",
    params=[click.Argument(["token_id"], metavar="ID"), _TOKEN_FILE],
)

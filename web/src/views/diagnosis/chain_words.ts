// What the wait chain says, in one voice with the findings above it.
import type { Finding, WaitChain } from "../../api/payload";
import { neverWaited, successorOf } from "../../model/chain";
import { shortOf } from "../../model/findings";
import { time } from "../../ui/format";

const MS = 1e9;
/** What would make the waits of a ring an answer. */
const WOULD_TELL =
  "What would tell: the operations of every rank, for one that never enters keeps the others waiting, or more steps, " +
  "in which one rank waits less than half as long as the others and the one after it waits first.";

const rankOf = (chain: WaitChain, row: number): string => `rank ${chain.rank[row] ?? row}`;
function placed(chain: WaitChain, row: number): string {
  const host = chain.host.at(row);
  return `Rank ${chain.rank[row] ?? row}${host === "" ? "" : ` on ${host}`}`;
}

/** "waits least, 1.3 ms in all; its successor rank 7 waits first". */
function waitsOf(chain: WaitChain, row: number): string {
  const next = successorOf(chain, row);
  const first =
    next === null || neverWaited(chain, next)
      ? ""
      : `; its successor ${rankOf(chain, next)} waits first`;
  return `waits least, ${time((chain.wait_ms[row] ?? 0) * MS)} in all${first}`;
}

/** The finding that the chain is about: the one that it names, else one that suspects the rank it points at. */
export function findingOf(chain: WaitChain, findings: readonly Finding[]): Finding | undefined {
  if (chain.finding !== null) return findings[chain.finding];
  const { culprit } = chain;
  if (culprit === null) return undefined;
  const ending = `/${chain.rank[culprit] ?? ""}`;
  return findings.find(({ suspects }) =>
    suspects.some(({ kind, name }) => kind === "rank" && name.endsWith(ending)),
  );
}

/** The answer of the ring. A finding that names somebody is not gainsaid: what the waits show is told beside it. */
export function chainWords(chain: WaitChain, findings: readonly Finding[]): string {
  const { culprit, least } = chain;
  const finding = findingOf(chain, findings);
  if (finding !== undefined) {
    const short = shortOf(finding);
    if (culprit === null) return `${short}. Nobody of this ring stands there.`;
    const named = `${placed(chain, culprit)} is where the finding points (${short}).`;
    if (least === culprit) return `${named} It ${waitsOf(chain, culprit)}: the others wait for it.`;
    if (least === null) return `${named} The waits of this ring alone would not show it.`;
    return `${named} By the waits of this ring alone it would be ${rankOf(chain, least)}, which ${waitsOf(chain, least)}.`;
  }
  if (culprit !== null) {
    const told = `${placed(chain, culprit)} ${waitsOf(chain, culprit)}: the others wait for it.`;
    return `${told} No finding names it: this alone is not enough evidence. ${WOULD_TELL}`;
  }
  return `Not enough evidence to say for whom this ring waits. ${WOULD_TELL}`;
}

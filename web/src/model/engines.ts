// One scenario under two engines: where packets end later than flows, and what they put on other links.
import type { Run } from "../api/payload";
import { sameFabric } from "./fabric";

export interface OperationDifference {
  operation: number;
  /** Row of the operation in both runs. */
  rows: readonly [flow: number, packet: number];
  flow_end_ps: number;
  packet_end_ps: number;
  /** End under packets minus end under flows. */
  difference_ps: number;
}
export interface LinkDifference {
  link: number;
  flow_bytes: number;
  packet_bytes: number;
  difference: number;
}
export interface EnginePair {
  flow: Run;
  packet: Run;
  /** Index of the two among the runs of the report. */
  flowRun: number;
  packetRun: number;
  /** In order of their numbers; empty where a run does not carry its operations. */
  operations: OperationDifference[];
  /** Communications that ended under one engine only. */
  unmatched: number;
  /** Links that carry anything under either engine. */
  links: LinkDifference[];
}

/** The pair, where one of two runs moved packets and the other flows, on the same fabric; else null. */
export function enginePair(runs: readonly Run[]): EnginePair | null {
  const [a, b] = runs;
  if (!a || !b || (a.packets === null) === (b.packets === null) || !sameFabric(a, b)) return null;
  const packetRun = a.packets === null ? 1 : 0;
  const [flow, packet] = packetRun === 1 ? [a, b] : [b, a];
  const { operations, unmatched } = operationDifferences(flow, packet);
  return {
    flow,
    packet,
    flowRun: 1 - packetRun,
    packetRun,
    operations,
    unmatched,
    links: linkDifferences(flow, packet),
  };
}

/** Operations of the same number, name and lane: runs of different jobs have none in common. */
function operationDifferences(
  flow: Run,
  packet: Run,
): Pick<EnginePair, "operations" | "unmatched"> {
  const [left, right] = [flow.operations, packet.operations];
  if (!left || !right) return { operations: [], unmatched: 0 };
  const rowOf = new Map<number, number>();
  left.operation.forEach((operation, row) => rowOf.set(operation, row));
  const operations: OperationDifference[] = [];
  right.operation.forEach((operation, row) => {
    const other = rowOf.get(operation);
    if (other === undefined) return;
    if (left.name.at(other) !== right.name.at(row) || left.lane.at(other) !== right.lane.at(row))
      return;
    const [flow_end_ps, packet_end_ps] = [left.end_ps[other] ?? 0, right.end_ps[row] ?? 0];
    operations.push({
      operation,
      rows: [other, row],
      flow_end_ps,
      packet_end_ps,
      difference_ps: packet_end_ps - flow_end_ps,
    });
  });
  return { operations, unmatched: left.rows + right.rows - 2 * operations.length };
}

function linkDifferences(flow: Run, packet: Run): LinkDifference[] {
  const found: LinkDifference[] = [];
  for (let link = 0; link < flow.links.rows; link++) {
    const [flow_bytes, packet_bytes] = [flow.links.bytes[link] ?? 0, packet.links.bytes[link] ?? 0];
    if (flow_bytes > 0 || packet_bytes > 0)
      found.push({ link, flow_bytes, packet_bytes, difference: packet_bytes - flow_bytes });
  }
  return found;
}

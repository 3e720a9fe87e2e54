// Places jobs that contended as a graph: each connected part by springs, the parts on shelves. No chance in it.
import type { ClusterJobs, ClusterLife } from "../api/payload";

export interface GraphNode {
  job: number;
  gpus: number;
  x: number;
  y: number;
  radius: number;
}
export interface GraphEdge {
  /** Indices of nodes. */
  one: number;
  other: number;
  seconds: number;
  /** Of the longest, 0..1. */
  part: number;
}
export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  width: number;
  height: number;
}

const RADIUS = { least: 5, most: 22 };
/** Length at which a spring rests, beyond both radii; two names fit beside each other. */
const REST = 26;
const ROUNDS = 300;
/** Nodes further apart than so many springs do not push each other away. */
const REACH = 2;
/** How strongly all are drawn to the middle, and how much more so up and down: pictures are wide. */
const PULL = 0.05;
const FLATTER = 3;
/** Room around a node, for its name. */
const AROUND = { x: 22, y: 20 };

/** Nodes that edges join, each group with its members in order. */
function groupsOf(nodes: number, edges: readonly GraphEdge[]): number[][] {
  const root = Array.from({ length: nodes }, (_, i) => i);
  const find = (at: number): number => {
    let top = at;
    while (root[top] !== top) top = root[top] ?? top;
    return top;
  };
  for (const { one, other } of edges)
    root[Math.max(find(one), find(other))] = Math.min(find(one), find(other));
  const groups = new Map<number, number[]>();
  for (let i = 0; i < nodes; i++) groups.set(find(i), [...(groups.get(find(i)) ?? []), i]);
  return [...groups.values()];
}

/** Springs along edges, repulsion between neighbours (Fruchterman and Reingold, 1991), from a circle on. */
function settle(nodes: GraphNode[], edges: readonly (readonly [GraphNode, GraphNode])[]): void {
  const circle = REST * (1 + Math.sqrt(nodes.length));
  nodes.forEach((node, i) => {
    const angle = (i / nodes.length) * 2 * Math.PI;
    [node.x, node.y] = [circle * Math.cos(angle), circle * 0.5 * Math.sin(angle)];
  });
  const moves = new Map(nodes.map((node) => [node, { x: 0, y: 0 }]));
  const push = (a: GraphNode, b: GraphNode, force: (distance: number, rest: number) => number) => {
    const [dx, dy] = [b.x - a.x || 1e-3, b.y - a.y || 1e-3];
    const distance = Math.hypot(dx, dy);
    const f = force(distance, REST + a.radius + b.radius) / distance;
    const [of, to] = [moves.get(a), moves.get(b)];
    if (!of || !to) return;
    [of.x, of.y, to.x, to.y] = [of.x - dx * f, of.y - dy * f, to.x + dx * f, to.y + dy * f];
  };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [node, move] of moves) [move.x, move.y] = [-PULL * node.x, -PULL * FLATTER * node.y];
    nodes.forEach((a, i) =>
      nodes
        .slice(i + 1)
        .forEach((b) => push(a, b, (d, rest) => (d > REACH * rest ? 0 : (rest * rest) / d / 2))),
    );
    for (const [a, b] of edges) push(a, b, (d, rest) => (-d * d) / rest / 2);
    const heat = REST * (1 - round / ROUNDS) + 0.5;
    for (const [node, { x, y }] of moves) {
      const size = Math.hypot(x, y) || 1;
      node.x += (x / size) * Math.min(size, heat);
      node.y += (y / size) * Math.min(size, heat);
    }
  }
}

/** The graph of the pairs that are listed, in a picture about `width` wide. */
export function contentionGraph(jobs: ClusterJobs, life: ClusterLife, width: number): Graph {
  const { one, other, seconds, rows } = life.pairs;
  const places = new Map<number, number>();
  const nodes: GraphNode[] = [];
  const most = Math.max(1, ...[...one, ...other].map((job) => jobs.gpus[job] ?? 0));
  const nodeOf = (job: number): number => {
    const known = places.get(job);
    if (known !== undefined) return known;
    const gpus = jobs.gpus[job] ?? 0;
    const radius = RADIUS.least + (RADIUS.most - RADIUS.least) * Math.sqrt(gpus / most);
    places.set(job, nodes.length);
    nodes.push({ job, gpus, x: 0, y: 0, radius });
    return nodes.length - 1;
  };
  const longest = Math.max(1e-9, ...seconds);
  const edges = Array.from({ length: rows }, (_, row): GraphEdge => {
    const value = seconds[row] ?? 0;
    return {
      one: nodeOf(one[row] ?? 0),
      other: nodeOf(other[row] ?? 0),
      seconds: value,
      part: value / longest,
    };
  });
  const groups = groupsOf(nodes.length, edges).map((members) => {
    const own = members.flatMap((i) => nodes[i] ?? []);
    const inside = new Set(own);
    const springs = edges.flatMap((edge): [GraphNode, GraphNode][] => {
      const [a, b] = [nodes[edge.one], nodes[edge.other]];
      return a && b && a !== b && inside.has(a) ? [[a, b]] : [];
    });
    settle(own, springs);
    const left = Math.min(...own.map((node) => node.x - Math.max(node.radius, AROUND.x)));
    const right = Math.max(...own.map((node) => node.x + Math.max(node.radius, AROUND.x)));
    const top = Math.min(...own.map((node) => node.y - node.radius)) - 6;
    const bottom = Math.max(...own.map((node) => node.y + node.radius)) + AROUND.y;
    return { own, left, top, width: right - left, height: bottom - top };
  });
  // The largest stand first; equals in the order of their first job.
  groups.sort((a, b) => b.own.length - a.own.length || b.height - a.height);
  const room = Math.max(width, ...groups.map((group) => group.width));
  let [x, y, shelf] = [0, 0, 0];
  for (const group of groups) {
    if (x > 0 && x + group.width > room) [x, y, shelf] = [0, y + shelf, 0];
    for (const node of group.own)
      [node.x, node.y] = [node.x - group.left + x, node.y - group.top + y];
    x += group.width;
    shelf = Math.max(shelf, group.height);
  }
  return { nodes, edges, width: room, height: y + shelf };
}

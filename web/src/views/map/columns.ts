// Columns of the map's table: the links of the selected device, or all links of the run.
import type { DeviceRow } from "../../api/payload";
import { endsOf, goesUp, LINK_CLASSES, type Fabric } from "../../model/fabric";
import { bitRate, bytes, percent, whole } from "../../ui/format";
import type { TableColumn } from "../../ui/table";

export interface LinkTable {
  fabric: Fabric;
  /** Link row per row of the table. */
  rows: Uint32Array;
  /** Utilization and bytes per link row, and 1 where they are of the whole run though a window is set. */
  values: Float32Array;
  carried: Float64Array;
  whole: Uint8Array;
  /** The selected device, at one end of every row; null: all links. */
  device: DeviceRow | null;
  /** Utilization at which a bar fills its cell. */
  top: number;
  /** Wide: the table has the whole width of the page. */
  compared: boolean;
  /** Some rows stand for several parallel links. */
  parallel: boolean;
}

export function linkColumns(table: LinkTable): TableColumn[] {
  const { fabric, rows, values, carried, whole: unknown, device, top, compared, parallel } = table;
  const { devices, links } = fabric.run;
  const at = (i: number): number => rows[i] ?? 0;
  const mark = (i: number): string => (unknown[at(i)] === 1 ? " *" : "");
  const ends = (i: number): readonly [number, number] => endsOf(fabric.run, at(i));
  const peer = (i: number): number => (ends(i)[0] === device ? ends(i)[1] : ends(i)[0]);
  const where: TableColumn[] =
    device === null
      ? [
          {
            key: "source",
            label: "Source",
            value: (i) => devices.name.at(ends(i)[0]),
            search: true,
          },
          {
            key: "target",
            label: "Target",
            value: (i) => devices.name.at(ends(i)[1]),
            search: true,
          },
        ]
      : [
          {
            key: "peer",
            label: "Other end",
            value: (i) => devices.name.at(peer(i)),
            search: true,
          },
          {
            key: "way",
            label: "Traffic",
            width: "5.2rem",
            value: (i) =>
              `${ends(i)[0] === device ? "out" : "in"}, ${goesUp(fabric, at(i)) ? "up" : "down"}`,
            search: true,
          },
        ];
  return [
    ...where,
    {
      key: "utilization",
      label: "Utilization",
      unit: "ratio",
      align: "right",
      width: "6.7rem",
      value: (i) => values[at(i)] ?? 0,
      text: (i) => percent(values[at(i)] ?? 0) + mark(i),
      bar: (i) => (values[at(i)] ?? 0) / Math.max(top, 0.01),
    },
    {
      key: "capacity",
      label: "Capacity",
      unit: "bit/s",
      align: "right",
      width: compared ? "9rem" : parallel ? "7.6rem" : "6.1rem",
      value: (i) => links.capacity_bits_per_s[at(i)] ?? 0,
      text: (i) =>
        `${(links.parallel[at(i)] ?? 1) > 1 ? `${links.parallel[at(i)]} × ` : ""}${bitRate(links.capacity_bits_per_s[at(i)] ?? 0)}`,
    },
    {
      key: "bytes",
      label: "Bytes",
      unit: "B",
      align: "right",
      width: "4.7rem",
      value: (i) => carried[at(i)] ?? 0,
      text: (i) => bytes(carried[at(i)] ?? 0) + mark(i),
    },
    {
      key: "flows",
      label: "Flows",
      whole: true,
      align: "right",
      width: "4rem",
      value: (i) => links.flows[at(i)] ?? 0,
      text: (i) => whole(links.flows[at(i)] ?? 0),
    },
    ...(compared
      ? [
          {
            key: "class",
            label: "Class",
            width: "8rem",
            value: (i: number) => LINK_CLASSES[fabric.linkClass[at(i)] ?? 0]?.name ?? "",
            search: true,
          },
        ]
      : []),
  ];
}

// What a table's columns are, and which rows it shows in which order.

export interface TableColumn {
  key: string;
  label: string;
  /** Unit of raw values, for the CSV header; the screen shows it with each number. */
  unit?: string;
  align?: "left" | "right";
  /** CSS width such as "7rem"; the first column without one takes what is left. */
  width?: string;
  /** Raw value: sorted by, and written to CSV; empty text where a number is missing. */
  value: (row: number) => number | string;
  /** Text on screen; the raw value when absent. */
  text?: (row: number) => string;
  /** CSS colour of the text. */
  color?: (row: number) => string | undefined;
  /** Part 0..1 of the cell that a bar behind the number fills. */
  bar?: (row: number) => number;
  /** True: written to CSV, not shown. */
  csvOnly?: boolean;
  /** True: the filter looks in here. */
  search?: boolean;
  /** True: of the whole run whatever the time window, which the head says while one is set. */
  whole?: boolean;
}
export interface TableSort {
  key: string;
  descending: boolean;
}

export const shownText = (column: TableColumn, row: number): string =>
  column.text ? column.text(row) : String(column.value(row));

/** Row indices that match the filter, in the order of the sort; ties keep their order. */
export function arranged(
  rows: number,
  columns: readonly TableColumn[],
  sort: TableSort | null,
  filter: string,
): Uint32Array {
  const wanted = filter.trim().toLowerCase();
  const searched = columns.filter((column) => column.search);
  let order: Uint32Array = new Uint32Array(rows);
  let kept = 0;
  for (let row = 0; row < rows; row++)
    if (wanted === "" || searched.some((c) => shownText(c, row).toLowerCase().includes(wanted)))
      order[kept++] = row;
  order = order.subarray(0, kept);
  const by = columns.find((column) => column.key === sort?.key);
  if (by === undefined || sort === null) return order;
  const sign = sort.descending ? -1 : 1;
  const keys = new Map<number, number | string>();
  const numbers = new Float64Array(rows);
  let numeric = true;
  for (const row of order) {
    const value = by.value(row);
    if (typeof value === "number") numbers[row] = Number.isNaN(value) ? -Infinity : value;
    else if (value === "" && by.align === "right") numbers[row] = -Infinity;
    else numeric = false;
    if (!numeric) break;
  }
  if (numeric) return order.sort((a, b) => sign * ((numbers[a] ?? 0) - (numbers[b] ?? 0)) || a - b);
  for (const row of order) keys.set(row, by.value(row));
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  return order.sort((a, b) => sign * compare(String(keys.get(a)), String(keys.get(b))) || a - b);
}

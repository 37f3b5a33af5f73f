import type { ComponentChildren } from "preact";

export interface Column<T> {
  readonly head: string;
  /** Left out where the page is narrow; the first column says the same in its second line. */
  readonly wideOnly?: boolean;
  readonly align?: "end";
  /** The head is for screen readers only. */
  readonly hideHead?: boolean;
  cell(row: T): ComponentChildren;
}

export interface DataTableProps<T> {
  /** What the rows are, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  keyOf(row: T): string;
}

/** A table. `j` and `k` move between what carries `data-row` in it. */
export function DataTable<T>({ caption, columns, rows, keyOf }: DataTableProps<T>) {
  const classOf = ({ wideOnly, align }: Column<T>) =>
    [wideOnly ? "wide-only" : "", align === "end" ? "end" : ""].filter(Boolean).join(" ") || undefined;
  return (
    <table class="table">
      <caption class="offscreen">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.head} scope="col" class={classOf(column)}>
              {column.hideHead ? <span class="offscreen">{column.head}</span> : column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column) => (
              <td key={column.head} class={classOf(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

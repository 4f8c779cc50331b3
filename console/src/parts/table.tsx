/** Shows rows in a table that narrow screens can read, with pages where the list has more. */
import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  /** Numbers stand to the right. */
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
  /** Present where the heading orders the rows. */
  readonly sort?: Sort;
}

interface Sort {
  /** Null while another column orders the rows. */
  readonly direction: 'ascending' | 'descending' | null;
  readonly onSort: () => void;
}

interface TableProps<Row> {
  /** Read by screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Shown in place of rows. */
  readonly empty: ComponentChildren;
}

export function Table<Row>({ caption, columns, rows, keyOf, empty }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.name} {...column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, isNumber, cell }) => (
                <td key={name} data-name={name} class={isNumber === true ? 'number' : ''}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="empty">{empty}</p>}
    </section>
  );
}

function Heading<Row>({ name, isNumber, sort }: Column<Row>) {
  const className = isNumber === true ? 'number' : '';
  if (sort === undefined) {
    return (
      <th scope="col" class={className}>
        {name}
      </th>
    );
  }
  const { direction, onSort } = sort;
  const arrow = direction === null ? '' : direction === 'ascending' ? ' ▲' : ' ▼';
  return (
    <th scope="col" class={className} aria-sort={direction ?? 'none'}>
      <button type="button" onClick={onSort}>
        {name}
        <span aria-hidden="true">{arrow}</span>
      </button>
    </th>
  );
}

interface PagesProps {
  /** From 0. */
  readonly page: number;
  readonly hasMore: boolean;
  readonly total?: number | undefined;
  readonly onPage: (page: number) => void;
}

/** Buttons for the page before and after. */
export function Pages({ page, hasMore, total, onPage }: PagesProps) {
  if (page === 0 && !hasMore) return null;
  return (
    <nav class="pages" aria-label="Pages">
      <button type="button" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <span>
        Page {page + 1}
        {total === undefined ? '' : `, ${total} in all`}
      </span>
      <button type="button" disabled={!hasMore} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}

interface NumberedPagesProps extends Pick<PagesProps, 'page' | 'onPage'> {
  readonly pageSize: number;
  readonly total: number;
}

/** Buttons for the page before and after, where the list tells how many rows all pages have. */
export function NumberedPages({ page, pageSize, total, onPage }: NumberedPagesProps) {
  return (
    <Pages page={page} hasMore={(page + 1) * pageSize < total} total={total} onPage={onPage} />
  );
}

interface CursorPagesProps {
  /** Cursors of the pages that were opened after the first one. */
  readonly cursors: readonly string[];
  readonly next: string | null;
  readonly onCursors: (cursors: readonly string[]) => void;
}

/** Buttons for the page before and after, where the list has cursors instead of numbers. */
export function CursorPages({ cursors, next, onCursors }: CursorPagesProps) {
  return (
    <Pages
      page={cursors.length}
      hasMore={next !== null}
      onPage={(page) => {
        const isBack = page < cursors.length;
        onCursors(isBack ? cursors.slice(0, page) : [...cursors, next!]);
      }}
    />
  );
}

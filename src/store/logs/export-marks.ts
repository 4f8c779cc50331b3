/** Table functions for export_marks: change markers of an organisation's log exports, which are in no snapshot. */
import { type MarkRow, marksOf } from '../rows/marks.ts';

declare module '../connection/db.ts' {
  interface Tables {
    export_marks: MarkRow;
  }
}

export const { replaceOne, stampOf } = marksOf('export_marks');

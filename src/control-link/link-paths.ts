/** Names the paths of the link, of which both sides speak version 1. */
export const linkPaths = {
  time: '/link/v1/time',
  snapshotState: '/link/v1/snapshot/state',
  snapshotObjects: '/link/v1/snapshot/objects',
  exchange: '/link/v1/limits/exchange',
  wanted: '/link/v1/limits/wanted',
  settle: '/link/v1/limits/settle',
  closeHolder: '/link/v1/limits/close',
  logRows: '/link/v1/logs',
  records: '/link/v1/records',
  totals: '/link/v1/totals',
} as const;

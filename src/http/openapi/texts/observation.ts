/** Describes the operations on logs, analytics, sync and the server itself for the OpenAPI document. */
import type { OperationTexts } from './operation-texts.ts';

export const logTexts: OperationTexts = {
  'GET /logs':
    'Returns model requests and calls of MCP servers, newest first by their end: on v1 by a cursor, on v2 by numbered pages of a workspace. Bodies, headers and credentials are not stored.',
  'GET /logs/batches':
    'Returns when transactions have stored rows, and the least and greatest end of these rows, so that a live log finds rows that become visible late.',
  'POST /logs':
    'Adds one request, or up to 100, that were made without the gateway. Bodies are read for model and tokens and discarded. They count in no budget or limit.',
  'GET /logs/{logId}':
    'Returns one model request or MCP call with tokens, cost and earlier attempts.',
  'GET /audit-logs':
    'Returns changes and reads of secrets with author, time and the changed fields, newest first. Send `next_cursor` as `cursor` for the next page.',
  'GET /logs/exports/field-restrictions':
    'Returns the fields that exports of the organisation, or of one workspace, must not contain.',
  'POST /logs/exports':
    'Creates the draft of a file with the requests that the filters select. It is written after a separate start.',
  'GET /logs/exports': 'Returns exports, newest first, with few fields.',
  'GET /logs/exports/{exportId}': 'Returns one export with filters, fields and progress.',
  'PUT /logs/exports/{exportId}':
    'Changes filters or fields of a draft. Filters that are not sent stay, and null removes one.',
  'DELETE /logs/exports/{exportId}':
    'Archives an export and deletes its file. An export in progress must be cancelled first.',
  'POST /logs/exports/{exportId}/start':
    'Starts a draft, or continues an export that was stopped or failed.',
  'POST /logs/exports/{exportId}/cancel': 'Stops an export in progress; a start continues it.',
  'GET /logs/exports/{exportId}/download':
    'Returns a link to the file that works for 15 minutes without a credential.',
  'GET /logs/exports/{exportId}/file':
    'Returns the file of an export, one JSON object a line. The signature of the link replaces a credential.',
  'GET /logs/groups/users': 'Counts the requests of a workspace by the user of their metadata.',
  'GET /logs/groups/{dimension}':
    'Sums up requests, tokens and cost of a workspace by one property, limited to `columns`.',
  'GET /logs/charts/{chart}': 'Returns the values of a chart over time for a workspace.',
  'GET /analytics/summary':
    'Returns one aggregate of requests, errors, tokens, cost and durations of the hours that the time range touches.',
  'GET /analytics/graph':
    'Returns an aggregate for each hour or day of the time range, including empty ones.',
  'GET /analytics/groups/{group}':
    'Returns an aggregate for each value of a property, such as the model or the API key.',
  'GET /analytics/groups/metadata/{key}':
    'Returns an aggregate for each value of one key of the metadata that callers send.',
  'GET /analytics/graphs/{graph}':
    'Returns totals and points over time of one figure. Costs are in cents, shares in percent.',
  'GET /analytics/graphs/{graph}/{part}':
    'Returns a graph under its longer name: `errors/rate` is `errors-rate`.',
  'GET /analytics/summary/cache': 'Returns how many responses came from the cache, and how fast.',
  'GET /analytics/summary/guardrails':
    'Returns how many requests guardrails judged, by verdict: passed, failed and let through, or denied.',
  'GET /analytics/filter-boundaries':
    'Returns minima, maxima, models, keys and other values with which the requests of a workspace can be filtered.',
  'POST /feedback':
    'Rates the responses of a trace with a value from -10 to 10 and a weight; one rating, or up to 100.',
  'GET /feedback/{feedbackId}': 'Returns one rating.',
  'PUT /feedback/{feedbackId}': 'Changes value, weight or metadata of a rating.',
  'GET /gatewright/attention':
    'Returns owners out of sync, failing jobs, alerts that were not delivered, budgets that are used up or nearly so, keys that end, and keys and providers most of whose requests fail, as far as the caller may list them. Send `next_cursor` as `cursor` for the next page.',
  'GET /gatewright/snapshot':
    'Returns everything that the organisation declares, as of one moment, with secrets as fingerprints. `If-None-Match` makes it cheap while nothing changes.',
  'POST /gatewright/changes':
    'Makes 1 to 1,000 changes of resources in order. `independent` changes succeed or fail alone; `atomic` changes succeed or fail together (422).',
  'PUT /gatewright/leases/{owner}':
    'Lets one run write in the name of an owner until the lease expires. The same run renews it with the same fence; while another run holds it, the response is 409.',
  'DELETE /gatewright/leases/{owner}': 'Frees the lease at once for the next run.',
  'POST /gatewright/key-proofs':
    'Tells for 1 to 200 values whether they belong to the named keys and are current. It returns no value. Wrong values are limited to 20 a minute.',
  'POST /gatewright/sync/key-uses':
    'Returns for 1 to 200 keys when they last authenticated a request, to the hour.',
  'PUT /gatewright/sync/status':
    'Replaces the status of an owner: commits, state, faults and drift. Needs the lease of the owner.',
  'GET /gatewright/sync/status':
    'Returns the status, newest revision, lease and suspensions of one owner or of all.',
  'POST /gatewright/sync/releases':
    'Ends the management of 1 to 200 resources by manifests. The resources stay as they are.',
  'PUT /gatewright/sync/sources':
    'Replaces the copy of the source of an owner, from which changes of manifests are proposed. Needs the lease of the owner.',
  'GET /gatewright/proposals/manifest':
    'Returns the document that declares a resource, from the copy of its source, and where a change of it goes.',
  'POST /gatewright/proposals/preview':
    'Changes a manifest without writing anything: returns the file, a patch for `git apply`, faults, and what sync would do beyond what it does already.',
  'POST /gatewright/proposals':
    'Creates a branch, a commit and a pull request at the configured Git host. Requests with the same `proposal_key` and change open one.',
  'POST /gatewright/sync/revisions':
    'Records what a run changed as the next numbered revision of its owner. The newest 50 are kept.',
  'GET /gatewright/sync/revisions': 'Returns the revisions of an owner without their changes.',
  'GET /gatewright/sync/revisions/{number}': 'Returns one revision of an owner with its changes.',
  'PUT /gatewright/sync/revisions/{number}/changes':
    'Appends changes to a revision. `start` is the number of changes sent before, so a repeated request has no effect.',
  'PUT /gatewright/sync/suspensions':
    'Keeps sync from writing for an owner, or for one of its workspaces, until a time or until the suspension is ended.',
  'DELETE /gatewright/sync/suspensions': 'Ends a suspension, and tells whether there was one.',
  'GET /livez': 'Responds with 200 as long as the process works, whatever the database does.',
  'GET /readyz':
    'Responds with 200 when requests can be served, and with 503 and the reason otherwise. Load balancers poll it.',
  'GET /startupz': 'Responds with 503 until the process has been ready once, then with 200.',
  'GET /openapi.json': 'Returns this document. `If-None-Match` returns 304 while it is unchanged.',
};

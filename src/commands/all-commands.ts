/** Lists every command with its usage and summary; the code of a command is loaded when it runs. */
import { type CommandEntry, commandEntry } from './shared/command.ts';

const entries: readonly CommandEntry[] = [
  commandEntry(
    'up',
    'Run database, server and sync of a folder on this machine',
    async () => (await import('./up/up.ts')).up,
  ),
  commandEntry(
    'validate [paths..]',
    'Check manifests without a server',
    async () => (await import('./manifests/validate.ts')).validate,
  ),
  commandEntry(
    'render [paths..]',
    'Print manifests with values, patches and defaults filled in',
    async () => (await import('./manifests/render.ts')).render,
  ),
  commandEntry(
    'plan [paths..]',
    'Show what apply would change; exits with 2 when there are changes',
    async () => (await import('./changes/plan.ts')).plan,
  ),
  commandEntry(
    'apply [paths..]',
    'Make the server match the manifests, or apply a saved plan',
    async () => (await import('./changes/apply.ts')).apply,
  ),
  commandEntry(
    'sync [paths..]',
    'Keep a running server in sync with manifests (daemon)',
    async () => (await import('./sync/sync.ts')).sync,
  ),
  commandEntry(
    'status',
    'Show each owner and workspace: commit, state, drift, errors, suspensions',
    async () => (await import('./status/status.ts')).status,
  ),
  commandEntry(
    'suspend [workspace]',
    'Pause sync of an owner or one workspace, with a reason and an end time',
    async () => (await import('./status/suspend.ts')).suspend,
  ),
  commandEntry(
    'resume [workspace]',
    'End a suspension',
    async () => (await import('./status/suspend.ts')).resume,
  ),
  commandEntry(
    'history [revision]',
    'List the runs of an owner, or show all changes of one revision',
    async () => (await import('./status/history.ts')).history,
  ),
  commandEntry(
    'rollback <revision>',
    'Apply the commit of an earlier revision again and suspend sync',
    async () => (await import('./changes/rollback.ts')).rollback,
  ),
  commandEntry(
    'get [kind] [name]',
    'List the resources of the server, or print them as manifests',
    async () => (await import('./status/get.ts')).get,
  ),
  commandEntry(
    'describe [kind] [name]',
    'Show one resource of the server: owner, source, users, all fields',
    async () => (await import('./status/describe.ts')).describe,
  ),
  commandEntry(
    'approve <integration>',
    'Approve changed definitions of an MCP server after showing them',
    async () => (await import('./changes/approve.ts')).approve,
  ),
  commandEntry(
    'logs',
    'Show logged model requests: caller, target, status, time, tokens and cost',
    async () => (await import('./status/logs.ts')).logs,
  ),
  commandEntry(
    'region-logs',
    'Show model requests that a region has logged in its own database',
    async () => (await import('./server/region-logs.ts')).regionLogs,
  ),
  commandEntry(
    'guardrails <action> [paths..]',
    'Judge a corpus by the guardrails of manifests, and tell what would change',
    async () => (await import('./guardrails/guardrails.ts')).guardrails,
  ),
  commandEntry(
    'audit <action>',
    'Verify that the audit log is unchanged, or export it',
    async () => (await import('./server/audit.ts')).audit,
  ),
  commandEntry(
    'adopt <resources..>',
    'Take ownership of existing resources on the server without changing them',
    async () => (await import('./changes/hand-over.ts')).adoptCommand,
  ),
  commandEntry(
    'release <resources..>',
    'Give up ownership of resources; they stay on the server, unmanaged',
    async () => (await import('./changes/hand-over.ts')).releaseCommand,
  ),
  commandEntry(
    'export <path>',
    'Write the resources of the server as manifests',
    async () => (await import('./changes/export.ts')).exportCommand,
  ),
  commandEntry(
    'serve',
    'Serve the Admin API and inference from the configured database',
    async () => (await import('./server/serve.ts')).serveCommand,
  ),
  commandEntry(
    'migrate',
    'Migrate the database to the schema of this version',
    async () => (await import('./server/migrate.ts')).migrateCommand,
  ),
  commandEntry(
    'bootstrap',
    'Create a superuser service account and an organisation API key',
    async () => (await import('./server/bootstrap.ts')).bootstrap,
  ),
  commandEntry(
    'service-account <action> [name]',
    'Create, list, update, rotate, disable or delete clients of the Admin API',
    async () => (await import('./accounts/service-account.ts')).serviceAccount,
  ),
  commandEntry(
    'console',
    'Print a link that signs a user in to the console, once, within five minutes',
    async () => (await import('./accounts/console.ts')).consoleCommand,
  ),
  commandEntry(
    'tsg <action> [name] [to]',
    'Create, list, rename or delete the tenants below a tenant',
    async () => (await import('./accounts/tsg.ts')).tsg,
  ),
  commandEntry(
    'rotate-master-key',
    'Re-encrypt every key in the database under a new master key while servers run',
    async () => (await import('./server/rotate-master-key.ts')).rotateMasterKeyCommand,
  ),
  commandEntry(
    'jobs <action> [name]',
    'List the scheduled jobs, or run one now',
    async () => (await import('./server/jobs.ts')).jobs,
  ),
  commandEntry(
    'healthcheck',
    'Check whether the process in this container is ready or alive',
    async () => (await import('./server/healthcheck.ts')).healthcheck,
  ),
  commandEntry(
    'doctor',
    'Check the deployment and list problems; changes nothing',
    async () => (await import('./server/doctor.ts')).doctor,
  ),
  commandEntry(
    'settings',
    'List every setting with its value and origin',
    async () => (await import('./settings.ts')).settings,
  ),
  commandEntry(
    'images',
    'List the container images of the chart, for copying into a private registry',
    async () => (await import('./images.ts')).images,
  ),
  commandEntry(
    'verify <artefact>',
    'Check signatures, provenance, SBOMs and checksums of a release of gatewright',
    async () => (await import('./releases/verify.ts')).verify,
  ),
  commandEntry(
    'mock-upstream',
    'Run a mock model provider that echoes and counts tokens, and a mock MCP server',
    async () => (await import('./mock-upstream/mock-upstream.ts')).mockUpstream,
  ),
  commandEntry(
    'fmt [paths..]',
    'Format manifests without changing their meaning',
    async () => (await import('./manifests/fmt.ts')).fmt,
  ),
  commandEntry(
    'new <kind> [name]',
    'Print a minimal valid manifest of a kind',
    async () => (await import('./manifests/new.ts')).newCommand,
  ),
  commandEntry(
    'explain [field]',
    'Explain a kind or a field of a manifest',
    async () => (await import('./manifests/explain.ts')).explainCommand,
  ),
  commandEntry(
    'schema [kind]',
    'Print the JSON Schema of manifests, for editors',
    async () => (await import('./manifests/schema.ts')).schema,
  ),
  commandEntry(
    'completion <shell>',
    'Print the completion script for bash, zsh or fish',
    async () => (await import('./completion/completion.ts')).completion,
  ),
];

/** By name, in the order in which help lists them. */
export const commands: ReadonlyMap<string, CommandEntry> = new Map(
  entries.map((entry) => [entry.usage.split(' ')[0]!, entry]),
);

/** Finds the people who receive the alerts about a budget. */
import { workspaceOfAccessKey } from '../model/providers/integration-access.ts';
import { readDocument } from '../model/wire/json-record.ts';
import type { Db } from '../store/connection/db.ts';
import { listResponsibleEmails } from '../store/people/workspace-members.ts';
import * as apiKeys from '../store/resources/api-keys.ts';
import * as integrationWorkspaces from '../store/resources/integration-workspaces.ts';
import * as providers from '../store/resources/providers.ts';
import * as usageLimitPolicies from '../store/resources/usage-limit-policies.ts';
import type { StoredUsageAlert } from '../store/usage/usage-alerts.ts';

/** The budget that an alert is about. */
type AlertSubject = Pick<
  StoredUsageAlert,
  'organisation_id' | 'subject_kind' | 'subject_id' | 'value_key'
>;

/**
 * The `alert_emails` of a key; the admins and managers of the workspace that the budget belongs to; the owners and admins
 * of the organisation.
 */
export async function listAlertRecipients(db: Db, alert: AlertSubject): Promise<string[]> {
  const { workspaceId, emails } = await placeOf(db, alert);
  const responsible = await listResponsibleEmails(db, alert.organisation_id, workspaceId);
  return [...new Set([...emails, ...responsible])];
}

interface AlertPlace {
  /** Null for a budget of the whole organisation, and for a subject that was deleted since. */
  readonly workspaceId: string | null;
  /** Addresses that the subject itself names. */
  readonly emails: readonly string[];
}

async function placeOf(db: Db, alert: AlertSubject): Promise<AlertPlace> {
  const { organisation_id: organisationId, subject_kind: kind, subject_id: id } = alert;
  const at = (workspaceId: string | null | undefined): AlertPlace => ({
    workspaceId: workspaceId ?? null,
    emails: [],
  });
  switch (kind) {
    case 'api_key': {
      const key = await apiKeys.findById(db, organisationId, id);
      return {
        workspaceId: key?.workspace_id ?? null,
        emails: readDocument<string[]>(key?.alert_emails ?? null) ?? [],
      };
    }
    case 'workspace':
      return at(id);
    case 'provider': {
      const [provider] = await providers.listByReference(db, organisationId, null, id);
      return at(provider?.workspace_id);
    }
    case 'integration_workspace':
      return at((await integrationWorkspaces.findById(db, organisationId, id))?.workspace_id);
    case 'integration':
      return at(workspaceOfAccessKey(alert.value_key));
    case 'policy':
      return at((await usageLimitPolicies.findById(db, organisationId, id))?.workspace_id);
    case 'token':
      return at(null);
  }
}

/** Describes the operations on access, organisations, people and workspaces for the OpenAPI document. */
import type { OperationTexts } from './operation-texts.ts';

export const identityTexts: OperationTexts = {
  'POST /oauth2/access_token':
    'Exchanges the id and secret of a service account (HTTP Basic) for a Bearer token of one tenant. The form has `grant_type=client_credentials` and `scope=tsg_id:<id>`. Send the token as `authorization: Bearer` until `expires_in` seconds have passed.',
  'POST /iam/v1/access_policies':
    'Gives a principal, a person or a service account, a role on a tenant service group or a workspace. The role applies to every group below too. A second policy with the same three values is 409.',
  'GET /iam/v1/access_policies':
    'Returns all access policies of the tenant of the token on one page.',
  'DELETE /iam/v1/access_policies/{policyId}':
    'Removes the role at once: requests with tokens that were issued before lose it too.',
  'POST /service-accounts':
    'Creates a client of the Admin API with roles in the whole tenant or in one workspace. The response has the client id, and the only copy of the secret. Nobody grants roles beyond their own scopes; superuser is granted to the account of `gatewright bootstrap` alone.',
  'GET /service-accounts':
    'Returns service accounts, newest first, with their roles and states, and never a secret.',
  'GET /service-accounts/{accountId}':
    'Returns one service account with client id, roles, state and the times of its rotations.',
  'PUT /service-accounts/{accountId}':
    'Changes roles, state, description or rotation policy. A disabled account gets no token, and its tokens end within two seconds.',
  'DELETE /service-accounts/{accountId}':
    'Deletes a service account with its roles in the tenant. Its secret and its tokens are refused from then on.',
  'POST /service-accounts/{accountId}/rotate':
    'Issues another secret, which only this response has. The previous one stays valid for the transition period; another rotation is 409 until it has ended.',
  'POST /tsgs':
    'Creates a tenant below that of the caller. The server chooses its TSG id. Accounts of the parent get tokens for it and create its first account.',
  'GET /tsgs': 'Returns the tenants directly below that of the caller, newest first.',
  'GET /tsgs/{tsgId}': 'Returns one tenant below that of the caller, by its `id`.',
  'PUT /tsgs/{tsgId}': 'Changes name or description of a child tenant. Its TSG id stays.',
  'DELETE /tsgs/{tsgId}':
    'Deletes a child tenant. While it has service accounts, children or resources, the response is 409 and names them.',
  'POST /iam/v1/scopes':
    'Stores a named set of resources. It grants nothing: rights follow from access policies and from the scopes of credentials.',
  'GET /iam/v1/scopes':
    'Returns all named sets of resources as `items`, with their number as `count`.',
  'GET /iam/v1/scopes/{name}': 'Returns one named set of resources.',
  'PUT /iam/v1/scopes/{name}':
    'Replaces the content of a named set of resources. Omitted fields become empty.',
  'DELETE /iam/v1/scopes/{name}': 'Deletes a named set of resources. No right depends on it.',
  'GET /organisations/self':
    'Returns id, tenant service group, name and the maximum lifetime of keys of the organisation that the credential belongs to.',
  'PUT /organisations/self':
    'Changes the name of the organisation, or the maximum lifetime of its API keys in days; null removes the maximum. Keys that exist keep their expiry, but are not rotated beyond the maximum.',
  'GET /organisations/{tsgId}/info':
    'Returns which features are switched on in this deployment, and limits of the organisation. Only the own organisation is found.',
  'GET /organisations/{tsgId}/auth-settings':
    'Returns how people sign in: issuer, client, claims, and the public key of the deployment that the identity provider needs for `private_key_jwt`. Without sign-in the fields are empty.',
  'PUT /organisations/{tsgId}/auth-settings':
    'Decides for the organisation whether accounts of the identity provider that are unknown here become users at their first sign-in. Null leaves the decision to the deployment.',
  'GET /admin/organisation/defaults':
    'Returns the guardrails that run on every request of the organisation, before those of the workspace, the fields that no log export may contain, and the maximum lifetime of API keys.',
  'PUT /admin/organisation/defaults':
    'Sets the guardrails of every workspace, the fields that no log export may contain, or the maximum lifetime of API keys in days. A field that is absent stays, and null empties it. The change takes effect on all gateways within a second.',
  'DELETE /admin/organisation/defaults':
    'Empties the guardrails of the organisation and the list of denied export fields, and removes the maximum lifetime of API keys.',
  'GET /session':
    'Returns the user of the session cookie, with the workspaces in which the user can act.',
  'DELETE /session':
    'Ends the session of the cookie, and returns the address at which the identity provider ends its own session.',
  'GET /admin/users':
    'Returns the people of the organisation, newest first. Filters search parts of names; the address must match as a whole.',
  'GET /admin/users/{id}': 'Returns one person with role, name and address.',
  'PUT /admin/users/{id}':
    'Changes role, first name or last name; null clears a name. Whoever grants the role of an administrator must hold every scope of that role. The owner cannot be changed.',
  'DELETE /admin/users/{id}':
    'Deletes a person with all memberships and API keys. The owner cannot be deleted.',
  'POST /admin/users/invites':
    'Offers an address membership in the organisation, optionally with workspaces and an API key in each. The invite is open for seven days. No mail is sent.',
  'GET /admin/users/invites': 'Returns invites in every state, newest first.',
  'GET /admin/users/invites/{id}': 'Returns one invite, also a cancelled or accepted one.',
  'DELETE /admin/users/invites/{id}':
    'Cancels an open or expired invite. It can still be read afterwards.',
  'POST /admin/users/invites/{id}/resend':
    'Opens a pending or expired invite for another seven days and returns its link. A cancelled or accepted invite is 409.',
  'GET /admin/users/{id}/sessions': 'Returns the current sign-in sessions of a person.',
  'DELETE /admin/users/{id}/sessions':
    'Signs a person out everywhere. Keys and access tokens keep working.',
  'DELETE /admin/users/{id}/sessions/{sessionId}': 'Ends one sign-in session of a person.',
  'POST /admin/users/{id}/sign-in-links':
    'Creates a link to the console that opens one session of a person, within five minutes. Only this response has the code. Requires every scope that the roles of the person hold; a link for the owner is created by the owner or by a superuser.',
  'POST /sign-in/link':
    'Opens a session with the code of a link for signing in, once, and sets its cookie. Accepted from pages of this server only.',
  'DELETE /admin/users/{id}/identity':
    'Separates a person from the account of the identity provider, so that the next sign-in with the same address binds another account. Requires every scope that the roles of the person hold.',
  'POST /scim/workspaces':
    'Makes the members of a directory group members of a workspace with one role. Names the group by id, or by a name, which creates the group where it does not exist.',
  'GET /scim/workspaces': 'Returns the mappings of directory groups, newest first.',
  'GET /scim/workspaces/{id}': 'Returns one mapping of a directory group.',
  'PUT /scim/workspaces/{id}':
    'Changes the role of a mapping, and of the members that it created. Members that were added manually keep their role.',
  'DELETE /scim/workspaces/{id}':
    'Removes the mapping, and the memberships and keys that no other mapping of the person justifies.',
  'GET /scim/groups': 'Returns the groups that a directory has provisioned, for mapping them.',
  'GET /scim/v2/ServiceProviderConfig':
    'Tells a directory which parts of SCIM 2.0 this service supports (RFC 7643, section 5).',
  'GET /scim/v2/ResourceTypes':
    'Lists the resource types `User` and `Group` (RFC 7643, section 6).',
  'GET /scim/v2/ResourceTypes/{id}': 'Returns the resource type `User` or `Group`.',
  'GET /scim/v2/Schemas':
    'Lists the attributes of users and groups that are stored (RFC 7643, section 7).',
  'GET /scim/v2/Schemas/{id}': 'Returns the attributes of one schema, addressed by its URN.',
  'POST /scim/v2/Users':
    'Provisions a person. The user name is the address; a second person with it is 409. An open invite for the address takes effect.',
  'GET /scim/v2/Users':
    'Returns a page of people. `filter` takes every operator of RFC 7644, section 3.4.2.2, such as `userName eq "ann@example.com"`.',
  'GET /scim/v2/Users/{id}': 'Returns one person in the form of SCIM.',
  'PUT /scim/v2/Users/{id}':
    'Replaces the attributes of a person. Absent attributes are removed, and a person without `active` is active.',
  'PATCH /scim/v2/Users/{id}':
    'Adds, replaces or removes attributes of a person. `active: false` deletes the keys of the person, and suspends memberships by groups until it is true again.',
  'DELETE /scim/v2/Users/{id}': 'Deletes a person with memberships and keys.',
  'POST /scim/v2/Groups':
    'Provisions a group with members. It has no effect on rights until it is mapped to a workspace.',
  'GET /scim/v2/Groups':
    'Returns a page of groups with their members. `filter` takes every operator of RFC 7644, section 3.4.2.2; `excludedAttributes=members` leaves members out.',
  'GET /scim/v2/Groups/{id}': 'Returns one group in the form of SCIM.',
  'PUT /scim/v2/Groups/{id}': 'Replaces the name and all members of a group.',
  'PATCH /scim/v2/Groups/{id}':
    'Adds, replaces or removes the name or members of a group. A removal may select members by a filter, as in `members[value eq "…"]`.',
  'DELETE /scim/v2/Groups/{id}':
    'Deletes a group, its mappings, and the memberships that followed from them.',
  'POST /workspaces':
    'Creates a workspace: a team or application with its own keys, configs, members, budget and rate limit. Its slug is generated and never changes.',
  'GET /workspaces':
    'Returns workspaces, newest first: only active ones unless `status` says otherwise.',
  'GET /workspaces/{id}': 'Returns one workspace with defaults, settings, budget and rate limit.',
  'PUT /workspaces/{id}':
    'Changes the sent fields of a workspace. `defaults`, `settings` and `security_settings` merge key by key. Guardrails in `defaults` run on every request of the workspace.',
  'DELETE /workspaces/{id}':
    'Archives an empty workspace. With `force_delete` its content is deleted too; otherwise the response names what is left. A repeated `name` in the body guards against mistakes.',
  'GET /workspaces/{id}/guardrails':
    'Returns the input and output guardrails of the workspace as a resource with its own version.',
  'PUT /workspaces/{id}/guardrails':
    'Sets the input or output guardrails of the workspace. An absent list stays, null or an empty list removes all.',
  'DELETE /workspaces/{id}/guardrails':
    'Removes the input and output guardrails of the workspace. Those of the organisation stay.',
  'POST /workspaces/{id}/users':
    'Adds people of the organisation to the workspace, each with a role. An existing member gets the sent role.',
  'GET /workspaces/{id}/users': 'Returns the members of the workspace with their roles.',
  'GET /workspaces/{id}/users/{userId}': 'Returns one member of the workspace.',
  'PUT /workspaces/{id}/users/{userId}': 'Changes the role of a member in the workspace.',
  'DELETE /workspaces/{id}/users/{userId}':
    'Removes a person from the workspace and deletes the keys of the person in it.',
};

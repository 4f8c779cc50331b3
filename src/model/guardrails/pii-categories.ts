/** Lists the categories of personal data that checks can look for. */

/** Categories that other gateways with the same format have and that need no model. */
const commonCategories = [
  'EMAIL_ADDRESS',
  'PHONE_NUMBER',
  'IP_ADDRESS',
  'CREDIT_CARD',
  'SSN',
] as const;

/** Further categories with check digits. */
const furtherCategories = [
  'IBAN',
  'CA_SIN',
  'UK_NHS',
  'DE_TAX_ID',
  'BR_CPF',
  'ES_DNI',
  'IT_CODICE_FISCALE',
  'IN_AADHAAR',
  'FR_NIR',
  'CH_AHV',
  'PL_PESEL',
  'NL_BSN',
  'US_ABA_ROUTING',
  'VIN',
  'IMEI',
  'CRYPTO_ADDRESS',
] as const;

/** Categories that only a model can recognise. */
const modelCategories = ['NAME', 'LOCATION_ADDRESS'] as const;

/** Categories that detectors without a model recognise. */
export const embeddedPiiCategories = [...commonCategories, ...furtherCategories] as const;
export type PiiCategory = (typeof embeddedPiiCategories)[number];

/** Every category that a check may name. */
export const piiCategories = [...embeddedPiiCategories, ...modelCategories] as const;

/** Whether a category can be recognised only by a model, which this gateway does not contain. */
export function needsPiiModel(category: string): boolean {
  return (modelCategories as readonly string[]).includes(category);
}

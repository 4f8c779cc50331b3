-- Usage of some keys over a long time, such as this month's of the keys on a page.
ALTER TABLE request_totals ADD KEY request_totals_api_key (organisation_id, api_key_id, began_at);

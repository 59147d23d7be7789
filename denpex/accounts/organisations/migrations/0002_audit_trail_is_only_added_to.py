"""Let the database itself refuse to change or remove a step of the audit trail."""

from __future__ import annotations

from django.db import migrations

_GUARD = """
CREATE FUNCTION organisations_auditentry_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is only added to';
END
$$;
CREATE TRIGGER organisations_auditentry_keep
BEFORE UPDATE OR DELETE ON organisations_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION organisations_auditentry_keep();
"""
_NO_GUARD = """
DROP TRIGGER organisations_auditentry_keep ON organisations_auditentry;
DROP FUNCTION organisations_auditentry_keep();
"""


class Migration(migrations.Migration):

    dependencies = [("organisations", "0001_initial")]

    operations = [migrations.RunSQL(_GUARD, _NO_GUARD)]

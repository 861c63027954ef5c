"""E-mail over SMTP, with STARTTLS, TLS from the first byte, or neither."""

from __future__ import annotations

import smtplib
import socket
import ssl
from datetime import UTC, datetime
from email.message import EmailMessage

from dictionary_pipeline.alerts.message import Message, text_lines
from dictionary_pipeline.alerts.posting import DeliveryFailed, connection_failure
from dictionary_pipeline.config.alert_settings import ChannelSettings, MailServer
from dictionary_pipeline.config.environment import variable
from dictionary_pipeline.errors import DictionaryError

_DELIVERED = "250"
_DOMAIN = "dictionary-pipeline"
_FIX = "Check the channel in project.yml; `data_dictionary alert-test` tries it."


def send(settings: ChannelSettings, message: Message) -> str:
    """Hand the message over to the mail server and return the SMTP code.

    Raises:
        ConfigurationError: the variable with the password is not set.
        DeliveryFailed: the server cannot be reached or refuses.
    """
    server = settings.mail
    if server is None:
        raise DeliveryFailed("no mail server is configured", channel=settings.name, fix=_FIX, is_temporary=False)
    password = variable(server.password_env, f"alert channel {settings.name}") if server.password_env else ""
    failure: DictionaryError | None = None
    try:
        with _connected(server, settings.timeout_seconds) as client:
            if server.user:
                client.login(server.user, password)
            refused = client.send_message(mail(server, message))
        return f"{_DELIVERED}, {len(refused)} recipients refused" if refused else _DELIVERED
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        failure = _refused(settings, "the server refuses every recipient", codes[0] if codes else 550)
    except smtplib.SMTPAuthenticationError as error:
        failure = _refused(settings, "the server refuses user or password", error.smtp_code)
    except smtplib.SMTPResponseException as error:
        failure = _refused(settings, "the server refuses the message", error.smtp_code)
    except smtplib.SMTPNotSupportedError:
        what = "the server offers no STARTTLS, or no login that is understood"
        failure = DeliveryFailed(what, channel=settings.name, fix=_FIX, is_temporary=False)
    except smtplib.SMTPException:
        failure = connection_failure(settings, None)
    except (OSError, ValueError) as error:
        failure = connection_failure(settings, error)
    # Raised outside the handlers: a server's text can quote what it was sent.
    raise failure


def _connected(server: MailServer, timeout: float) -> smtplib.SMTP:
    """A connection, encrypted before anything is said where that is configured."""
    name = socket.gethostname()
    if server.security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(server.host, server.port, local_hostname=name, timeout=timeout, context=context)
    client = smtplib.SMTP(server.host, server.port, local_hostname=name, timeout=timeout)
    if server.security == "starttls":
        try:
            client.starttls(context=ssl.create_default_context())
        except BaseException:
            client.close()
            raise
    return client


def mail(server: MailServer, message: Message) -> EmailMessage:
    """The message as plain text; all that is said about one item makes one thread."""
    result = EmailMessage()
    result["Subject"] = message.subject
    result["From"] = server.sender
    result["To"] = ", ".join(server.recipients)
    result["Date"] = datetime.now(UTC)
    result["Message-ID"] = f"<{message.id}@{_DOMAIN}>"
    result["References"] = f"<{message.thread}@{_DOMAIN}>"
    result["Auto-Submitted"] = "auto-generated"
    result.set_content("\n".join(text_lines(message)) + "\n")
    return result


def _refused(settings: ChannelSettings, what: str, code: int) -> DeliveryFailed:
    is_temporary = 400 <= code < 500
    return DeliveryFailed(
        f"{what} (SMTP {code})", channel=settings.name, fix=_FIX, code=str(code), is_temporary=is_temporary
    )

from notes_server import make_app

import reattach.pytest_plugin


class TestNotesServer(reattach.pytest_plugin.Conformance):
    app = make_app()

"""Kernels for students' code: started by the grader's own Python, in a sandbox or, when that is said, without."""

import os
import uuid

import zmq.asyncio
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from traitlets import Type

MOST_MESSAGE = 32 << 20     # bytes; a longer one cuts the kernel's connection, and its cell runs into the timeout


class StudentKernelManager(AsyncKernelManager):
    """A manager for one student's kernel: whatever kernelspec the notebook names, it is this Python.

    `provisioner_class` starts it: jupyter_client's LocalProvisioner, or one that puts it into a sandbox.
    """

    provisioner_class = Type(LocalProvisioner)

    def __init__(self, **kwargs):
        super().__init__(kernel_name="python3", **kwargs)
        self._kernel_spec = KernelSpec(argv=["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                                       display_name="Python 3", language="python")

    def client(self, **kwargs):
        """A client that takes no message of more than MOST_MESSAGE bytes."""
        context = zmq.asyncio.Context()
        context.setsockopt(zmq.MAXMSGSIZE, MOST_MESSAGE)     # for the sockets that will be made in it
        return super().client(context=context, **kwargs)

    async def _async_pre_start_kernel(self, **kwargs):
        self.kernel_id = self.kernel_id or str(uuid.uuid4())
        if self.provisioner is None:
            self.provisioner = self.provisioner_class(kernel_id=self.kernel_id, kernel_spec=self._kernel_spec, parent=self)
        return await super()._async_pre_start_kernel(**kwargs)

    pre_start_kernel = _async_pre_start_kernel


def environment() -> dict[str, str]:
    """The environment of a kernel without a sandbox: the grader's, without what is the grader's alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POSLAB_", "NBGRADER_"))}
    kept.pop("MPLBACKEND", None)
    return kept | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
